"""How the endpoint fails, and the manners of real models that it takes on."""

import re
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.endpoint.batches import BatchFaults
from soliloquy.runtime.model.dialects import Dialect
from soliloquy.standin.faults import Rates
from soliloquy.v1.model_pb2 import Completion, Finish
from soliloquy_services.model.fake import FakeSettings, Fate


@dataclass(frozen=True, kw_only=True)
class EndpointSettings(FakeSettings):
    """Faults only occur during storms, at the end of every period; a period of 0 is a permanent storm."""

    period: float = 0.0
    storm: float = 0.0
    # The fewest tokens of a prompt that a cache of prefixes holds; None for an endpoint without one.
    prefix_cache: int | None = None
    # How long a batch takes, and the faults of batches.
    batch_latency: float = 1.0
    batch_faults: BatchFaults = field(default_factory=BatchFaults)
    # The dialect decides what the endpoint accepts and how it answers; without one it accepts everything.
    dialect: str = ""
    began: float = field(default_factory=time.monotonic)

    def fate_of(self, request: int, elapsed: float | None = None) -> Fate:
        elapsed = time.monotonic() - self.began if elapsed is None else elapsed
        is_calm = self.period and elapsed % self.period < self.period - self.storm
        return Fate.ANSWERED if is_calm else super().fate_of(request)


_TIMES = re.compile(r"(\d) [×*] (\d)")


class Manners:
    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
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
