"""Parses a Dockerfile into stages and steps, as far as deploy/images uses the format."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).parents[2] / "deploy/images/Dockerfile"


@dataclass(frozen=True, kw_only=True)
class Step:
    instruction: str
    told: str


@dataclass(frozen=True, kw_only=True)
class Stage:
    name: str
    base: str
    steps: list[Step] = field(default_factory=list)

    def last(self, instruction: str) -> str | None:
        """Returns the last USER, ENTRYPOINT or CMD, which is the one that counts."""
        told = [step.told for step in self.steps if step.instruction == instruction]
        return told[-1] if told else None


def stages(text: str) -> dict[str, Stage]:
    """Returns the stages by name, in order."""
    found: dict[str, Stage] = {}
    stage: Stage | None = None
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        instruction, _, told = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = told.partition(" AS ")
            stage = found[name] = Stage(name=name, base=base)
        elif stage is not None and instruction:
            stage.steps.append(Step(instruction=instruction, told=told.strip()))
    return found


def line(stages: dict[str, Stage], name: str) -> list[Stage]:
    """Returns a stage and all that it builds on, lowest first."""
    stage = stages[name]
    return [*line(stages, stage.base), stage] if stage.base in stages else [stage]


def copied(step: Step) -> tuple[str, list[str], str]:
    """Returns a COPY's source stage if any, its paths and its target."""
    words = step.told.split()
    source = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
    return source, words[:-1], words[-1]


def variables(step: Step) -> dict[str, str]:
    """Returns the pairs of an ENV or LABEL."""
    return dict(word.split("=", 1) for word in shlex.split(step.told))


def command(stages: dict[str, Stage], name: str) -> list[str]:
    """Returns the command of a container, before its arguments."""
    told = [entry for stage in line(stages, name) if (entry := stage.last("ENTRYPOINT"))]
    words: list[str] = json.loads(told[-1])
    return words
