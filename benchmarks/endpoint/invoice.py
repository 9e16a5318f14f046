"""Counts for each request of the stand-in what a cache of prefixes held of it, and what it is billed."""

from collections.abc import Mapping
from typing import Any

from soliloquy.runtime.model.costs import use_of
from soliloquy.runtime.model.openai_client import PROMPT_HEADER, SEED_HEADER
from soliloquy.v1.model_pb2 import Completion

# A cache holds prefixes of this many tokens, and of each multiple.
_STEP = 128


class PrefixCache:
    """Holds the beginnings of all prompts so far, if they have enough words; a word counts as a token."""

    def __init__(self, fewest: int, *, by_marks: bool = False) -> None:
        """`by_marks` holds them up to the marks in a prompt alone, and nothing of one without a mark."""
        self._fewest = fewest
        self._by_marks = by_marks
        self._held: set[int] = set()

    def use(self, params: Mapping[str, Any]) -> tuple[int, int]:
        """Returns how many tokens of a request it held, and how many it has written."""
        prefixes, length, prefix = [], 0, 0
        for message in params["messages"]:
            prefix = hash((prefix, message["role"]))
            for text, is_marked in _parts(message):
                for word in text.split():
                    length, prefix = length + 1, hash((prefix, word))
                    is_step = length >= self._fewest and (length - self._fewest) % _STEP == 0
                    if is_step and not self._by_marks:
                        prefixes.append((length, prefix))
                if is_marked and self._by_marks and length >= self._fewest:
                    prefixes.append((length, prefix))
        held = max((place for place, key in prefixes if key in self._held), default=0)
        self._held.update(key for _, key in prefixes)
        return held, max(0, prefixes[-1][0] - held) if prefixes else 0


class Invoice:
    """A line for each request that was worked on, whether its answer arrives or not."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def add(
        self, params: Mapping[str, Any], headers: Mapping[str, str], completion: Completion, *, arrives: bool
    ) -> None:
        total = Completion()
        total.CopyFrom(completion)
        total.completion_tokens += sum(one.completion_tokens for one in completion.more)
        total.reasoning_tokens += sum(one.reasoning_tokens for one in completion.more)
        self.lines.append(
            {
                "state": headers.get(PROMPT_HEADER, ""),
                "seeds": headers.get(SEED_HEADER, ""),
                "model": params["model"],
                "arrives": arrives,
                **use_of(total),
            }
        )


def _parts(message: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Returns the parts of a message, and whether a mark tells a cache to hold the prompt up to there."""
    content = message["content"]
    return (
        [(content, False)] if isinstance(content, str) else [(one["text"], "cache_control" in one) for one in content]
    )
