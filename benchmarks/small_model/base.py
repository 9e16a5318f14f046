"""Creates an untrained small model with a tokenizer of its own: repeated text takes few tokens, a digit is one token.

Each fixed passage of the prompts is a token. All other text is byte-level BPE trained on conversations, in which whole
phrases become tokens too. Numbers are split into digits, so that the model can copy them; a name or an expression in
backticks or parentheses begins a token, so that it has the same tokens everywhere.
"""

import re
import string
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_training.data import samples

_SPECIAL = BEGIN, END, PAD = "<|begin|>", "<|end|>", "<|pad|>"
# The conversations that train the tokenizer; more add no words.
READ = 1000
# Characters of a passage. A shorter one could be part of another text; a longer one is refused by llguidance, which
# holds a served model to its grammar: no token of its may have more than 1,024 bytes.
_SHORTEST, _LONGEST = 24, 1000
# A digit; line ends; what begins with backticks, a parenthesis or the backslash of a line end in JSON; all else.
_PIECES = r"\d|\n+|(`+|[()\\])[^`()\\\d\n]*\n?|[^`()\\\d\n]+\n?"
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}:\n"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}{{ eos_token }}{% endgeneration %}"
    "{% else %}{{ message['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant:\n{% endif %}"
)


def fixed_passages(prompts: Path) -> list[str]:
    """Returns each passage of the prompt files that lies between lines with placeholders, once."""
    found = (passage for path in sorted(prompts.glob("*.txt")) for passage in _passages(path.read_text("utf-8")))
    return list(dict.fromkeys(passage for passage in found if len(passage) >= _SHORTEST))


def train_tokenizer(texts: Iterable[str], prompts: Path, *, vocabulary: int) -> PreTrainedTokenizerFast:
    """Trains a tokenizer with at most so many tokens, including the fixed passages."""
    passages = fixed_passages(prompts)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(passages),
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    fixed = re.compile("|".join(re.escape(passage) for passage in sorted(passages, key=len, reverse=True)))
    tokenizer.train_from_iterator((varying for text in texts for varying in fixed.split(text)), trainer)
    tokenizer.add_tokens([AddedToken(passage, normalized=False) for passage in passages])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BEGIN, eos_token=END, pad_token=PAD)
    made.chat_template = TEMPLATE
    return made


def _passages(prompt: str) -> Iterator[str]:
    lines: list[str] = []
    for line in prompt.splitlines():
        if any(string.Template(line).get_identifiers()) or re.fullmatch(r"\[\w+\]", line):
            yield _as_filled_in(lines)
            lines = []
            continue
        if len("\n".join([*lines, line])) > _LONGEST:
            yield _as_filled_in(lines)
            lines = []
        lines.append(line)
    yield _as_filled_in(lines)


def _as_filled_in(lines: list[str]) -> str:
    return string.Template("\n".join(lines).strip()).substitute()


def make_base(
    folder: Path, conversations: Iterable[Conversation], prompts: Path, shape: dict[str, Any], *, seed: int
) -> int:
    """Writes the model to a folder; returns the number of its parameters."""
    read = islice(conversations, READ)
    texts = (message.text for each in read for sample in samples(each, "states") for message in sample)
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
