"""The options that say what word problems are to be like, and the run that has them written."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from soliloquy.problems.commission_source import CommissionSource
from soliloquy.problems.sources import BadProblemFile, UnknownProblems, problem_source
from soliloquy.recipes.mathwell.commissions import describe, topic_refusal
from soliloquy.recipes.mathwell.criteria.operations import CALCULATIONS, OPERATIONS
from soliloquy.recipes.mathwell.recipe import RECIPE
from soliloquy.runs.failure import Failure
from soliloquy.runs.plan import Plan
from soliloquy.runtime.ask import BrokenPrompt
from soliloquy.v1.conversation_pb2 import Commission

Command = TypeVar("Command", bound=Callable[..., Any])


def _topics(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for topic in given:
        if why := topic_refusal(topic):
            raise click.BadParameter(f"{why}: name one, such as dinosaurs, or use --any-topic")
    return given


def _operations(_: click.Context, __: click.Parameter, given: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (given or "").split(",") if name.strip())
    for name in names:
        if name not in OPERATIONS:
            raise click.BadParameter(f"{name!r} is none: they are {', '.join(OPERATIONS)}")
    if names and not set(names) & set(CALCULATIONS):
        needed = ", ".join(CALCULATIONS)
        raise click.BadParameter(f"{given!r} says with which numbers, and not what is done with them: add {needed}")
    return names


_OPTIONS = (
    click.option(
        "--topic", "topics", multiple=True, callback=_topics, help="What they are about; may be given repeatedly."
    ),
    click.option(
        "--any-topic", is_flag=True, help="Leave the topic to whoever writes.  [default: topics children like]"
    ),
    click.option("--grade", type=click.IntRange(1, 8), help="The school year that they are for."),
    click.option(
        "--operations",
        metavar="NAME,..",
        callback=_operations,
        help=f"Only these: {', '.join(OPERATIONS)}.",
    ),
    click.option(
        "--examples",
        default="arithmetic",
        show_default=True,
        metavar="BANK|FILE",
        help="Shown to whoever writes.",
    ),
)


def commission_options(command: Command) -> Callable[..., Any]:
    """Hands the command the commissions as `source`, where their examples are from, and what is asked for in words."""

    @functools.wraps(command)
    def with_commissions(
        *arguments: Any,
        topics: tuple[str, ...],
        any_topic: bool,
        grade: int | None,
        operations: tuple[str, ...],
        examples: str,
        **options: Any,
    ) -> Any:
        if topics and any_topic:
            raise click.UsageError("--topic and --any-topic contradict each other")
        try:
            source = CommissionSource(
                examples=problem_source(examples),
                topics=("",) if any_topic else topics or RECIPE.topics,
                grade=grade or 0,
                operations=operations,
            )
        except (BadProblemFile, UnknownProblems) as unusable:
            raise Failure(str(unusable)) from unusable
        about = describe(Commission(topic=", ".join(topics), grade=source.grade, operations=operations))
        return command(*arguments, source=source, about=about, problems=examples, **options)

    for each in reversed(_OPTIONS):
        each(with_commissions)
    return with_commissions


def writing(source: CommissionSource, **settings: Any) -> Plan:
    """The run that has problems written to these commissions; raises Failure."""
    try:
        return Plan.of("mathwell", source, max_turns=1, **settings)
    except BrokenPrompt as broken:
        raise Failure(str(broken)) from broken
