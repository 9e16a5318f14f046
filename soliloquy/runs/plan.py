"""What a run is asked to do, and which parts of that its content depends on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from soliloquy.runtime.model.accounting import cost
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.weights import digest_of
from soliloquy.v1.runs_pb2 import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    recipe: str
    problems: str
    problems_sha256: str
    models: Models
    prompts_sha256: dict[str, str]
    conversations: int
    seed: int
    noise: str
    max_turns: int
    max_attempts: int
    enrich: bool
    # The file of those whose opinion of what is written counts too.
    classifiers: Path | None = None
    # The rest changes how fast a run goes and nothing of what it makes.
    workers: int
    in_flight: int
    latency: float
    # The folder of answers that are not asked for again.
    model_cache: Path | None = None

    def identity(self) -> dict[str, Any]:
        """All that the dataset follows from: two runs with the same identity make the same files."""
        return {
            "soliloquy": version("soliloquy"),
            "recipe": self.recipe,
            **self.models.identity(),
            "conversations": self.conversations,
            "seed": self.seed,
            "noise": self.noise,
            "max_turns": self.max_turns,
            "max_attempts": self.max_attempts,
            "enrich": self.enrich,
            "classifiers_sha256": digest_of([self.classifiers]) if self.classifiers else "",
            "problems_sha256": self.problems_sha256,
            "prompts_sha256": self.prompts_sha256,
        }

    def run(self, growing: str = "") -> Run:
        identity = self.identity()
        # Not from how many are wanted: a longer run begins with the conversations of a shorter one.
        source = {name: value for name, value in identity.items() if name != "conversations"}
        return Run(
            id=digest(json.dumps(source, sort_keys=True)),
            recipe=self.recipe,
            seed=self.seed,
            in_flight=self.in_flight,
            max_turns=self.max_turns,
            max_attempts=self.max_attempts,
            enrich=self.enrich,
            classifiers=identity["classifiers_sha256"],
            growing=growing,
        )

    def cost(self, tokens: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
        """Of each role's tokens, at the prices of its endpoint."""
        return {
            role: round(cost(self.models.endpoint_of(role), used["prompt"], used["completion"]), 6)
            for role, used in tokens.items()
        }


def difference(kept: dict[str, Any], asked: dict[str, Any]) -> str:
    """In words, the first thing in which two identities differ; empty where they are one."""
    for name, value in asked.items():
        if kept.get(name) == value:
            continue
        if isinstance(value, dict):
            before = kept.get(name) or {}
            changed = sorted(key for key in value.keys() | before.keys() if value.get(key) != before.get(key))
            return f"{name.removesuffix('_sha256')} {', '.join(changed)} changed since"
        if name.endswith("_sha256"):
            return f"its {name.removesuffix('_sha256')} are others"
        return f"{name} {kept.get(name)}, not {value}"
    return ""
