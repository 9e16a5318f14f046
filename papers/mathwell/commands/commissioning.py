"""Options for commissioned word problems, and the run that has them written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import gathered, setting
from soliloquy.cli.model_options import MODELS, RECORD
from soliloquy.cli.options import IN_FLIGHT, SEED, WORKERS, whole
from soliloquy.cli.service_options import CLASSIFIERS, NOISE, PROMPTS, chosen_prompts
from soliloquy.problems.commission_source import CommissionSource
from soliloquy.problems.sources import problem_source
from soliloquy.recipes.prompts import changed_texts
from soliloquy.runs.plan import Plan
from soliloquy.runtime.model.settings import Models
from soliloquy.v1.conversation_pb2 import Commission
from soliloquy_papers.mathwell.commissions import commissioned, describe, topic_refusal
from soliloquy_papers.mathwell.criteria.operations import CALCULATIONS, OPERATIONS
from soliloquy_papers.mathwell.prompting import topics as default_topics


def _topics(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for topic in given:
        if why := topic_refusal(topic):
            raise click.BadParameter(f"{why}: use a topic such as dinosaurs, or --any-topic")
    return given


def _operations(_: click.Context, __: click.Parameter, given: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (given or "").split(",") if name.strip())
    for name in names:
        if name not in OPERATIONS:
            raise click.BadParameter(f"unknown operation {name!r}: use {', '.join(OPERATIONS)}")
    if names and not set(names) & set(CALCULATIONS):
        needed = ", ".join(CALCULATIONS)
        raise click.BadParameter(f"{given!r} names no calculation: add one of {needed}")
    return names


_TOPICS = setting("A topic of the problems; may be repeated.", "--topic", callback=_topics)
_OPERATIONS = setting(
    f"Use only these operations: {', '.join(OPERATIONS)}.",
    metavar="NAME,..",
    callback=_operations,
    multiple=False,
    required=False,
)
_EXAMPLES = setting("Example problems for the model.", default="arithmetic", metavar="BANK|FILE")


@dataclass(frozen=True, kw_only=True, slots=True)
class Commissions:
    source: CommissionSource
    # A description for people.
    about: str
    # The bank or file of the example problems.
    examples: str
    # The folder of changed prompts.
    prompts: Path | None
    # The other settings of a plan.
    settings: Mapping[str, Any]

    def plan(self, **settings: Any) -> Plan:
        """Returns the plan of the run that has these commissions written; raises Failure."""
        changed = chosen_prompts("mathwell", self.prompts)
        settings |= {"problems": self.examples, "prompts": changed, "max_turns": 1, "latency": 0.0, **self.settings}
        return Plan.of("mathwell", self.source, **settings)


def _commissions(
    models: Models = MODELS,
    record: Path | None = RECORD,
    topics: tuple[str, ...] = _TOPICS,
    any_topic: bool = setting("Let the model choose the topic.  [default: topics children like]"),
    grade: int | None = setting("The school year of the problems.", type=whole(1, 8)),
    operations: tuple[str, ...] = _OPERATIONS,
    examples: str = _EXAMPLES,
    prompts: Path | None = PROMPTS,
    seed: int = SEED,
    workers: int = setting("Worker processes.", default=1, type=whole(1, WORKERS)),
    in_flight: int = setting("Problems to write at once.", default=64, type=whole(1, IN_FLIGHT)),
    noise: str = NOISE,
    classifiers: Path | None = CLASSIFIERS,
) -> Commissions:
    if topics and any_topic:
        raise click.UsageError("--topic cannot be used with --any-topic")
    changed = changed_texts("mathwell", prompts) if prompts else {}
    source = CommissionSource(
        examples=problem_source(examples),
        topics=("",) if any_topic else topics or default_topics(changed),
        grade=grade or 0,
        operations=operations,
        commissioned=commissioned,
    )
    about = describe(Commission(topic=", ".join(topics), grade=source.grade, operations=operations))
    asked = {"models": models, "record": record, "noise": noise, "classifiers": classifiers}
    settings = {"seed": seed, "workers": workers, "in_flight": in_flight, **asked}
    return Commissions(source=source, about=about, examples=examples, prompts=prompts, settings=settings)


COMMISSIONS = gathered(_commissions)
