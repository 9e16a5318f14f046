"""A Dockerfile as stages and steps: what deploy/images uses of the format, and nothing else."""

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
        """In an image the last USER, ENTRYPOINT or CMD is the one that counts."""
        told = [step.told for step in self.steps if step.instruction == instruction]
        return told[-1] if told else None


def stages(text: str) -> dict[str, Stage]:
    """By name, in their order."""
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
    """A stage and what it is built on, the lowest first."""
    stage = stages[name]
    return [*line(stages, stage.base), stage] if stage.base in stages else [stage]


def copied(step: Step) -> tuple[str, list[str], str]:
    """Of a COPY: the stage that it copies from, if any, what, and whereto."""
    words = step.told.split()
    source = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
    return source, words[:-1], words[-1]


def variables(step: Step) -> dict[str, str]:
    """Of an ENV or a LABEL."""
    return dict(word.split("=", 1) for word in shlex.split(step.told))


def command(stages: dict[str, Stage], name: str) -> list[str]:
    """What a container of the image starts, before its arguments."""
    told = [entry for stage in line(stages, name) if (entry := stage.last("ENTRYPOINT"))]
    words: list[str] = json.loads(told[-1])
    return words
