"""Creates an untrained small model: a tokenizer trained on conversations, and random weights."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from soliloquy.v1.conversation_pb2 import Conversation
from training.samples import states
from training.small.tokens import train_tokenizer

# The conversations that train the tokenizer; more add no words.
READ = 1000


def make_base(
    folder: Path, conversations: Iterable[Conversation], prompts: Path, shape: dict[str, Any], *, seed: int
) -> int:
    """Writes the model to a folder; returns the number of its parameters."""
    read = islice(conversations, READ)
    texts = (message.text for each in read for sample in states(each) for message in sample)
    tokenizer = train_tokenizer(texts, prompts, vocabulary=shape["vocab_size"])
    torch.manual_seed(seed)
    config = LlamaConfig(
        **{**shape, "vocab_size": len(tokenizer)},
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())
