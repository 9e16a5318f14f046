"""Multiplies the figures of each part to say what a number of conversations takes."""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FIGURES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CONVERSATION: dict[str, float] = _FIGURES["conversation"]
GPUS: dict[str, dict[str, Any]] = _FIGURES["gpu"]
_SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    name: str
    unit: str
    an_hour: float
    measured: str

    def units(self, an_hour: float) -> int:
        return math.ceil(an_hour / self.an_hour)


KAFKA_DAYS: int = _FIGURES["kafka"]["days"]
PARTS: Sequence[Part] = [Part(**part) for part in _FIGURES["part"]]


@dataclass(frozen=True, kw_only=True, slots=True)
class OnGpu:
    """The speed of one card at conversations with a model of so many thousand million parameters."""

    card: str
    parameters: float

    @property
    def reading_rate(self) -> float:
        return self._rate("reading_rate")

    @property
    def output_rate(self) -> float:
        return self._rate("output_rate")

    def _rate(self, name: str) -> float:
        """Tokens a second: each takes every parameter, so a model of twice the size is half as fast."""
        figures = GPUS[self.card]
        return float(figures[name] * figures["parameters"] / self.parameters)

    @property
    def reading_seconds(self) -> float:
        return CONVERSATION["input_tokens"] * CONVERSATION["uncached_share"] / self.reading_rate

    @property
    def writing_seconds(self) -> float:
        return CONVERSATION["output_tokens"] / self.output_rate

    @property
    def conversations_an_hour(self) -> float:
        return _SECONDS_AN_HOUR / (self.reading_seconds + self.writing_seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizing:
    conversations: int
    gpus: int
    on_gpu: OnGpu

    @property
    def an_hour(self) -> float:
        return self.gpus * self.on_gpu.conversations_an_hour

    @property
    def hours(self) -> float:
        return self.conversations / self.an_hour

    @property
    def in_flight(self) -> int:
        return int(self.gpus * GPUS[self.on_gpu.card]["callers"])

    @property
    def kafka_gigabytes(self) -> float:
        """The disk of a replica when it holds the most: all conversations, or those of the days that it keeps."""
        kept = min(self.hours, 24 * KAFKA_DAYS)
        return float(kept * self.an_hour * CONVERSATION["kafka_megabytes"] / 1000)
