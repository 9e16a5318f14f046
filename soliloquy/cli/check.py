import asyncio
import functools
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from soliloquy.cli.attended import ASKED, AttendedModels
from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import ANY_PATH, AS_JSON
from soliloquy.cli.tables import facts
from soliloquy.cli.terminal import answer
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.check_report import CheckedConversation, TruthReport
from soliloquy.recipes.labels import columns_of
from soliloquy.recipes.packages import UnknownRecipe
from soliloquy.recipes.reader import ROLE, with_all_claims
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation

# Conversations whose messages are read at once.
_IN_FLIGHT = 32


@click.command(cls=Command)
@click.argument("folder", metavar="DIR|URL")
def check(
    folder: str,
    *,
    rejected: bool = setting("Check the rejected conversations instead."),
    as_if: Path | None = setting("Check by the [rules] of this file.", metavar="FILE", type=ANY_PATH),
    as_json: bool = AS_JSON,
    asked: AttendedModels = ASKED,
) -> int:
    """Check what is claimed, computed and said in every turn of a dataset.

    Prints a line for each broken rule, with the conversation, the rule, the turn and the evidence; what rules only mark
    is counted, and `soliloquy show` has it. The exit status is 0 if no rule is broken and 1 if one is. Imported chats
    of no recipe have no rules: they are counted, and the exit status is 2 if there is nothing else.

    What a message claims is read by patterns if its speaker has not said so, as in imported conversations, and by the
    role reader with --model openai or ray.
    """
    dataset, report = Dataset(folder), TruthReport()
    conversations: Iterable[Conversation] = dataset.conversations(rejected=rejected)
    if not all(endpoint.engine == "scripted" for endpoint in asked.models.asked(ROLE)):
        reading = asked.ask_about_each([*conversations], _read, "conversations", in_flight=_IN_FLIGHT, quiet=as_json)
        conversations = asyncio.run(reading)
    try:
        for conversation in conversations:
            # Imported conversations may have no recipe, and then have no rules.
            if conversation.run.recipe:
                report.add(conversation.id, _checked(conversation, as_if))
            else:
                report.unchecked += 1
    except UnknownRecipe as unknown:
        raise Failure(f"conversation {conversation.id} cannot be checked: {unknown}") from unknown
    if report.unchecked and not report.conversations:
        raise Failure(
            f"none of {report.unchecked:,} conversations in {folder} can be checked: they name no recipe, whose rules "
            "they would be held to; check what was generated, or imported in a recipe's format such as soliloquies"
        )
    answer(report.as_json() if as_json else None, _shown(report, dataset.recipe), as_json=as_json)
    return 1 if report.faults else 0


async def _read(conversation: Conversation, model: Model) -> Conversation:
    """Returns the conversation with what its messages claim."""
    reader = find(conversation.run.recipe).reader if conversation.run.recipe else None
    return await with_all_claims(conversation, reader, model)


def _checked(conversation: Conversation, as_if: Path | None) -> CheckedConversation:
    recipe = find(conversation.run.recipe)
    if as_if is None:
        return recipe.check(conversation)
    if recipe.rules is None:
        raise Failure(f"--as-if: the recipe {conversation.run.recipe} has no table of rules")
    book = recipe.rules.book
    return recipe.rules.check_by(conversation, book.under(_rules_of(as_if), str(as_if), book.rules))


@functools.cache
def _rules_of(file: Path) -> Mapping[str, Any]:
    try:
        table = tomllib.loads(read_regular_text(file))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"--as-if: {file} holds no rules ({error})") from error
    rules = table.get("rules")
    if not isinstance(rules, dict) or not all(isinstance(rule, dict) for rule in rules.values()):
        raise Failure(f"--as-if: {file} has no tables [rules.NAME]: edit those of the recipe's rules.toml")
    return rules


def _shown(report: TruthReport, recipe: str) -> Iterator[object]:
    yield from (f"{conversation}  {fault}" for conversation, fault in report.faults)
    for pair in report.likeness.alike:
        yield f"{pair.one}  similar wording: {pair.likeness:.0%} of it is also in {pair.other}"
    yield _labels(report, recipe)
    yield facts(_figures(report))


def _labels(report: TruthReport, recipe: str) -> Table:
    """Counts the turns with each value of a label, in words."""
    meanings = {column.title: column.meanings for column in columns_of(recipe).values()}
    meanings["evaluation"] = find(recipe).evaluations
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_column()
    for label in report.labels:
        shown = label
        for value, turns in sorted(report.occurring(label).items(), key=lambda each: (-each[1], each[0])):
            meaning = meanings.get(label, {}).get(value, "")
            table.add_row(shown, f"{turns:,}", Text(f"{meaning} ({value})" if meaning else value or "none"))
            shown = ""
    return table


def _not_applied(report: TruthReport) -> str:
    """Names the rules by what conversations lack: "verdict, steps (138 conversations hold no steps)"."""
    without: dict[tuple[str, int], list[str]] = {}
    for (rule, need), count in sorted(report.not_applied.items()):
        without.setdefault((need, count), []).append(rule.replace("_", " "))
    return "; ".join(
        f"{', '.join(rules)} ({count:,} conversations hold no {need})" for (need, count), rules in without.items()
    )


def _figures(report: TruthReport) -> dict[str, str]:
    figures, closest = report.figures(), report.likeness.closest
    marked = ", ".join(f"{count:,} {rule}" for rule, count in report.marked.most_common())
    alike = f"; most alike, {closest.likeness:.0%}: {closest.one} and {closest.other}" if closest else ""
    unchecked = f"{report.unchecked:,} conversations of no recipe"
    return {
        **({"not checked": unchecked} if report.unchecked else {}),
        **({"rules not applied": _not_applied(report)} if report.not_applied else {}),
        "conversations": f"{report.conversations:,} with {report.turns:,} turns",
        "unverified": f"{report.unverified:,} of {report.verdicts:,} verdicts",
        "student's errors": f"in {figures['realised_error_rate']:.0%} of {report.replies:,} replies; "
        f"meant in {figures['intended_error_rate']:.0%}; {report.unlike_meant:,} other than meant",
        "variety of words": f"{figures['bigram_entropy']:.2f} bits (bigram entropy of the tutor's replies)",
        "similar wording": f"{len(report.likeness.alike):,} pairs among {report.likeness.compared:,}{alike}",
        **({"marked": marked} if marked else {}),
        "faults": f"{len(report.faults):,}",
    }
