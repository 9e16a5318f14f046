"""Whether a question names its topic; whether it is about it is for a model to say."""

from soliloquy_papers.mathwell.criteria.words import WORD, singular, stems

_SMALL = frozenset(["a", "an", "the", "of", "and", "in", "on", "for", "with", "about", "to", "at"])


def names_topic(question: str, topic: str) -> bool | None:
    """Whether the question contains a word of the topic; None if there is no topic."""
    wanted = frozenset(singular(word) for word in WORD.findall(topic)) - _SMALL
    return bool(wanted & stems(question)) if wanted else None
