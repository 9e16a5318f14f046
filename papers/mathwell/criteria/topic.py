"""Whether a question names its topic, and whether the topic carries what is counted and asked for."""

import re

from soliloquy.runtime.files import table_beside
from soliloquy.truth.numbers import numbers_in
from soliloquy_papers.mathwell.criteria.words import WORD, sentences_of, singular, stems

_SMALL = frozenset(["a", "an", "the", "of", "and", "in", "on", "for", "with", "about", "to", "at"])
_ASIDE = re.compile(rf"\b(?:{'|'.join(table_beside(__file__, 'topic.toml')['aside'])})\b", re.IGNORECASE)

# A verb's form, whose root has a vowel ("string" has none), with a consonant that was doubled for the ending.
_ROOT = re.compile(r"(?=.*[aeiouy].*ing$)([a-z]{2,}?)([a-z])\2?ing$")


def names_topic(question: str, topic: str) -> bool | None:
    """Whether the question contains a word of the topic; None if there is no topic."""
    wanted = _words_of(topic)
    return _names(question, wanted) if wanted else None


def carries_topic(question: str, topic: str) -> bool:
    """Whether the topic is named where something is counted or asked for, or sets the scene for it.

    A sentence such as "Tom likes penguins" mentions a topic, and sets no scene.
    """
    wanted = _words_of(topic)
    if not wanted:
        return True
    sentences = sentences_of(question)
    naming = [_names(sentence, wanted) and not _ASIDE.search(sentence) for sentence in sentences]
    telling = [bool(numbers_in(sentence)) or "?" in sentence for sentence in sentences]
    return any(names and any(telling[place:]) for place, names in enumerate(naming))


def _names(text: str, wanted: frozenset[str]) -> bool:
    """Whether the text has one of the words, or another form of one that ends in -ing: who bakes is about baking."""
    words = stems(text)
    roots = [root for word in wanted if (root := _ROOT.sub(r"\1\2", word)) != word]
    return bool(wanted & words) or any(word.startswith(root) for root in roots for word in words)


def _words_of(topic: str) -> frozenset[str]:
    return frozenset(singular(word) for word in WORD.findall(topic)) - _SMALL
