"""Dresses scripted answers as real models do, at the rates of manners.toml."""

import re
import tomllib
from collections import Counter
from pathlib import Path
from random import Random

from soliloquy.standin.faults import Rates
from soliloquy.v1.model_pb2 import Completion, Finish
from soliloquy_services.model.fake.dialects import SpokenDialect

_TIMES = re.compile(r"(\d) [×*] (\d)")


class Manners:
    def __init__(self, spoken: SpokenDialect) -> None:
        self._dialect = spoken.dialect
        self._rates = Rates(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")))
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
