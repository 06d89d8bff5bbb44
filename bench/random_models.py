"""Tiny random models with a tokenizer of their own, to hold an engine to its definition without a download."""

from collections.abc import Iterable
from pathlib import Path

# A wide initialisation: with the usual one every token is about as likely as any other, and no mistake would show.
SHAPE = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
}
ARCHITECTURES = ("llama", "qwen2")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def train_tokenizer(texts: Iterable[str], chat_template: str | None, vocabulary: int = 500):
    """Byte-level BPE that splits digits, so that keys are one token or several, as it comes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", extra_special_tokens=["<|start|>"])
    fast.chat_template = chat_template
    return fast


def save(directory: Path, architecture: str, tokenizer, positions: int = 8192) -> Path:
    """Write a random model of an architecture with a tokenizer; the same weights every time."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

    config = {"llama": LlamaConfig, "qwen2": Qwen2Config}[architecture]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config(vocab_size=len(tokenizer), max_position_embeddings=positions, **SHAPE))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
