"""Tiny random language models with tokenizers of their own, saved as any other, and their plain log-probabilities."""

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Qwen2Config

from engines import rendering

CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
CONTEXT = 8192
# A wide initialisation: with the usual one every token is about as likely as any other, and no mistake would show.
SHAPE = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "max_position_embeddings": CONTEXT,
}
ARCHITECTURES = {"llama": LlamaConfig, "qwen2": Qwen2Config}


def train_tokenizer(
    texts: Iterable[str], chat_template: str | None = None, vocabulary: int = 500, lines_apart: bool = False
) -> PreTrainedTokenizerFast:
    """Byte-level BPE that splits digits, so that keys are one token or several, as it comes.

    Args:
        lines_apart: never join a line end with what is before it.
    """
    tokenizer = Tokenizer(models.BPE())
    parts = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split("\n", "isolated"), *parts] if lines_apart else parts)
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


def save_model(folder: Path, architecture: str, tokenizer: PreTrainedTokenizerFast) -> Path:
    """Write a model of an architecture with a tokenizer; the same weights every time."""
    torch.manual_seed(0)
    config = ARCHITECTURES[architecture](vocab_size=len(tokenizer), **SHAPE)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_tiny_model(folder: Path, chat_template: str | None = None) -> Path:
    """Write a Llama model whose tokenizer knows the words of the rendering."""
    texts = [rendering.SYSTEM, rendering.CLOSING, *rendering.RULES]
    return save_model(folder, "llama", train_tokenizer(texts, chat_template, 400, lines_apart=True))


@torch.inference_mode()
def token_log_probabilities(model: LlamaForCausalLM, ids: list[int]) -> list[float | None]:
    """Log-probability of every token given those before it; None for the first."""
    logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    predicted = logits.double().log_softmax(-1)
    return [None, *(predicted[place, token].item() for place, token in enumerate(ids[1:]))]
