"""How the stand-in fails, and the manners of real models that it takes on."""

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from random import Random

from soliloquy.runtime.seeds import draw
from soliloquy.standin.faults import Rates
from soliloquy.v1.model_pb2 import Completion, Finish
from soliloquy_services.model.fake.batches import BatchFaults
from soliloquy_services.model.fake.dialects import SpokenDialect


class Fate(Enum):
    ANSWERED = "answered"
    # 429, with Retry-After.
    THROTTLED = "throttled"
    # 500.
    FAILED = "failed"
    # The body stops half-way and the connection closes.
    TRUNCATED = "truncated"
    # The body is not JSON.
    MALFORMED = "malformed"
    # Never answers.
    HUNG = "hung"


@dataclass(frozen=True, kw_only=True, slots=True)
class FakeSettings:
    """Faults only occur during storms, at the end of every period; a period of 0 is a permanent storm."""

    # The share of requests during a storm that have each fault.
    throttled: float = 0.0
    failed: float = 0.0
    truncated: float = 0.0
    malformed: float = 0.0
    hung: float = 0.0
    period: float = 0.0
    storm: float = 0.0
    # The seconds of an answer.
    latency: float = 0.0
    seed: int = 0
    # The value of Retry-After; empty for no header.
    retry_after: str = "1"
    # The required API key; empty for none.
    key: str = field(default="", repr=False)
    # The fewest tokens of a prompt that a cache of prefixes holds; None for an endpoint without one.
    prefix_cache: int | None = None
    # How long a batch takes, and the faults of batches.
    batch_latency: float = 1.0
    batch_faults: BatchFaults = field(default_factory=BatchFaults)
    # The dialect decides what the stand-in accepts and how it answers; without one it accepts everything.
    dialect: str = ""

    def fate_of(self, request: int, elapsed: float) -> Fate:
        """Returns the fate of a request by its number."""
        drawn, reached = draw("weather", self.seed, request).random(), 0.0
        is_calm = self.period and elapsed % self.period < self.period - self.storm
        for fate in () if is_calm else Fate:
            reached += getattr(self, fate.value, 0.0)
            if drawn < reached:
                return fate
        return Fate.ANSWERED


_TIMES = re.compile(r"(\d) [×*] (\d)")


class Manners:
    def __init__(self, spoken: SpokenDialect) -> None:
        self._dialect = spoken.dialect
        self._rates = Rates(tomllib.loads(Path(__file__).with_name("manners.toml").read_text("utf-8")))
        # Counts the answers that were dressed, by manner.
        self.seen: Counter[str] = Counter()

    def dress(self, completion: Completion, rng: Random) -> Completion:
        words, manner = self._rates.words, self._rates.fault("any", rng)
        is_json = completion.text.startswith("{")
        thinks = self._dialect.reasoning != "" or "temperature" in self._dialect.without
        if thinks:
            thought = rng.choice(words["thoughts"])
            completion.reasoning_tokens = len(thought.split())
            completion.completion_tokens += completion.reasoning_tokens
            completion.reasoning = thought if self._dialect.reasoning else ""
        if manner == "cut_off":
            completion.finish = Finish.FINISH_LENGTH
            completion.text = "" if thinks else completion.text[: len(completion.text) // 2]
        elif manner == "refusal" and self._dialect.name == "azure":
            manner, completion.finish = "filtered", Finish.FINISH_FILTER
        elif manner == "refusal":
            completion.text = rng.choice(words["refusals"])
            # Only OpenAI's answers have a field for it.
            completion.finish = Finish.FINISH_REFUSAL if self._dialect.error == "openai" else Finish.FINISH_STOP
        elif not is_json and (manner := self._rates.fault("spoken", rng)):
            if manner == "preface":
                completion.text = rng.choice(words["prefaces"]) + completion.text
            elif manner == "latex":
                completion.text = _TIMES.sub(r"\1 \\times \2", completion.text)
        self.seen[manner or "none"] += 1
        completion.cached_tokens = completion.prompt_tokens // 2
        return completion
