"""Trains a tokenizer for a small model: repeated text takes few tokens, and each digit is one token.

Each fixed passage of the prompts is a token. All other text is byte-level BPE trained on conversations, in which whole
phrases become tokens too. Numbers are split into digits, so that the model can copy them; a name or an expression in
backticks or parentheses begins a token, so that it has the same tokens everywhere.
"""

import re
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

_SPECIAL = BEGIN, END, PAD = "<|begin|>", "<|end|>", "<|pad|>"
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
