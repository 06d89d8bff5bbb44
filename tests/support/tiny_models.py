"""A tiny random language model with a tokenizer of its own, saved as any other, and its plain log-probabilities."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from engines import rendering

CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
CONTEXT = 2048


def save_tiny_model(folder: Path, chat_template: str | None = None, seed: int = 0) -> Path:
    """Write model and tokenizer; wide initial weights, so that tokens differ in what follows them."""
    tokenizer = train_tokenizer(chat_template)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,
        max_position_embeddings=CONTEXT,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def train_tokenizer(chat_template: str | None = None) -> PreTrainedTokenizerFast:
    """Byte-level BPE that splits digits and never joins a line end with what is before it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("\n", "isolated"),
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>", "<|start|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator([rendering.SYSTEM, rendering.CLOSING, *rendering.RULES], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", extra_special_tokens=["<|start|>"])
    fast.chat_template = chat_template
    return fast


@torch.inference_mode()
def token_log_probabilities(model: LlamaForCausalLM, ids: list[int]) -> list[float | None]:
    """Log-probability of every token given those before it; None for the first."""
    logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    predicted = logits.double().log_softmax(-1)
    return [None, *(predicted[place, token].item() for place, token in enumerate(ids[1:]))]
