"""Says how large an installation a number of conversations takes, from the figures of sizing.toml."""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

_FIGURES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CONVERSATION: dict[str, float] = _FIGURES["conversation"]
GPUS: dict[str, dict[str, Any]] = _FIGURES["gpu"]
KAFKA_DAYS: int = _FIGURES["kafka"]["days"]
_SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    name: str
    unit: str
    an_hour: float
    measured: str
    # The most units of an installation.
    most: float = math.inf

    def units(self, an_hour: float) -> int:
        return math.ceil(an_hour / self.an_hour)

    @property
    def most_an_hour(self) -> float:
        return self.most * self.an_hour


PARTS: Sequence[Part] = [Part(**part) for part in _FIGURES["part"]]


class Card(NamedTuple):
    """The speed of one card at conversations with a model."""

    # Tokens a second.
    reading_rate: float
    output_rate: float
    # The time that a conversation takes.
    reading_seconds: float
    writing_seconds: float

    @classmethod
    def of(cls, kind: str, parameters: float) -> Self:
        """Each token takes every parameter, so a model of twice the size is half as fast."""
        figures = GPUS[kind]
        slower = parameters / figures["parameters"]
        reading, writing = figures["reading_rate"] / slower, figures["output_rate"] / slower
        read = CONVERSATION["input_tokens"] * CONVERSATION["uncached_share"]
        return cls(reading, writing, read / reading, CONVERSATION["output_tokens"] / writing)

    @property
    def conversations_an_hour(self) -> float:
        return _SECONDS_AN_HOUR / (self.reading_seconds + self.writing_seconds)


def kafka_gigabytes(hours: float, an_hour: float) -> float:
    """Returns the disk of a replica when it holds the most: all conversations, or those of the days that it keeps."""
    return min(hours, 24 * KAFKA_DAYS) * an_hour * CONVERSATION["kafka_megabytes"] / 1000
