"""A tokenizer of its own for a small model: what it reads again and again takes few tokens, and digits one each.

Of a prompt most words are the same every time. Each of its fixed lines is a token; what varies is byte-level BPE that
was trained on conversations. A number is taken apart into digits, so that it can be copied from any place to any other.
"""

import re
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

_SPECIAL = BEGIN, END, PAD = "<|begin|>", "<|end|>", "<|pad|>"
# A shorter line could be part of another text.
_SHORTEST = 24
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}:\n"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}{{ eos_token }}{% endgeneration %}"
    "{% else %}{{ message['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant:\n{% endif %}"
)


def fixed_lines(prompts: Path) -> Iterator[str]:
    """The lines of the prompt files in which nothing is filled in."""
    seen = set()
    for path in sorted(prompts.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            plain = not any(string.Template(line).get_identifiers()) and not re.fullmatch(r"\[\w+\]", line)
            if plain and len(line.strip()) >= _SHORTEST and line not in seen:
                seen.add(line)
                yield string.Template(line).substitute()


def train_tokenizer(texts: Iterable[str], prompts: Path, *, vocabulary: int) -> PreTrainedTokenizerFast:
    """Of so many tokens at most, the fixed lines among them."""
    lines = list(fixed_lines(prompts))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(lines),
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    fixed = set(lines)
    varying = ("\n".join(line for line in text.splitlines() if line not in fixed) for text in texts)
    tokenizer.train_from_iterator(varying, trainer)
    tokenizer.add_tokens([AddedToken(line, normalized=False) for line in lines])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BEGIN, eos_token=END, pad_token=PAD)
    made.chat_template = TEMPLATE
    return made
