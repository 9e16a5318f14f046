"""`python -m benchmarks false-verdicts`."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

import click
from google.protobuf.message import Message
from rich.console import Console
from rich.table import Table

from benchmarks.command import AS_JSON, Tell, status_line, table
from benchmarks.drawn_answers import NO_FAULTS, DrawnAnswers, FaultRates
from benchmarks.known_truth import (
    FORMS,
    KnownProblem,
    is_verdict,
    known_problems,
    sent_back,
    untrue_results,
    untrue_verdicts,
)
from benchmarks.sandbox_load import running_pool
from soliloquy.recipes.calls import calls_of_turns
from soliloquy.recipes.recipe import find
from soliloquy.runs.assembly import conversation_handlers
from soliloquy.standin.phrasebook import BOOK
from soliloquy.standin.speakers import why_unusable
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at, opening_event
from soliloquy_services.executor.handler import JobExecutor

_RECIPES = ("soliloquy", "scaffold", "mathdial")
_TOGETHER = 16
_MAX_TURNS = 20
_RATE = click.FloatRange(min=0, max=1)
_ACCEPTED, _TOKENS = 0.9, 1.25


@dataclass(kw_only=True)
class Counts:
    """Counts what became of the conversations of one recipe about problems in one form."""

    begun: int = 0
    accepted: int = 0
    verdicts: int = 0
    false_verdicts: list[str] = field(default_factory=list)
    false_results: list[str] = field(default_factory=list)
    sent_back: list[str] = field(default_factory=list)
    # Per accepted conversation.
    tokens: float = 0
    undisturbed_tokens: float = 0
    # The same run without any noise.
    undisturbed_accepted: int = 0
    undisturbed_faults: int = 0
    # The changes that the noise has made.
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def token_ratio(self) -> float:
        return self.tokens / self.undisturbed_tokens if self.undisturbed_tokens else 0.0


@click.command(name="false-verdicts")
@click.option("--recipe", "recipes", multiple=True, type=click.Choice(_RECIPES), default=_RECIPES, show_default=True)
@click.option("--conversations", default=500, show_default=True, type=click.IntRange(min=1), help="Of each recipe.")
@click.option("--seed", default=5, show_default=True, type=int)
@click.option("--programs", default=0.1, show_default=True, type=_RATE, help="Programs that calculate something else.")
@click.option("--descriptions", default=0.05, show_default=True, type=_RATE, help="Descriptions that lack an input.")
@click.option("--contradicted", default=0.05, show_default=True, type=_RATE, help="Verdicts against the output.")
@click.option("--students", default=0.1, show_default=True, type=_RATE, help="Wrong answers that were to be right.")
@click.option("--list", "listed", is_flag=True, help="List what is false.")
@AS_JSON
def false_verdicts(
    *, recipes: Sequence[str], conversations: int, seed: int, listed: bool, as_json: bool, **rates: float
) -> None:
    """Count false verdicts in accepted conversations about problem files as people write them.

    The problems are those of `benchmarks brought` in which nothing is false: in prose, in GSM8K's and MathDial's forms,
    and with nothing but the answer. What is true is known from the rows, and what a student said from what the scripted
    model drew for it: neither is asked of the rules that accept a conversation.
    """
    with status_line() as tell:
        found = asyncio.run(measure(recipes, conversations, seed, FaultRates(**rates), tell))
    if as_json:
        figures = {name: {form: _as_json(one) for form, one in forms.items()} for name, forms in found.items()}
        click.echo(json.dumps(figures))
        return
    Console().print(_table(found))
    for recipe, forms in found.items() if listed else ():
        for form, counts in forms.items():
            for kind in ("false_verdicts", "false_results", "sent_back"):
                for one in getattr(counts, kind):
                    click.echo(f"{recipe}, {form}: {kind.replace('_', ' ')}: {one}")


def _as_json(counts: Counts) -> dict[str, Any]:
    figures = asdict(counts) | {"faults": dict(counts.faults), "token_ratio": counts.token_ratio}
    return {name: len(one) if isinstance(one, list) else one for name, one in figures.items()}


def _table(found: Mapping[str, Mapping[str, Counts]]) -> Table:
    made = table("recipe", "accepted", "false", "told", "sent\nback", "tokens", "no noise", "faults")
    made.caption = "false: verdicts; told: false results; sent back: right answers; faults: changes by the noise"
    for recipe, forms in found.items():
        for form, one in forms.items():
            accepted = one.accepted / one.begun
            made.add_row(
                f"{recipe}\n{form}",
                f"{_marked(accepted, '.0%', is_met=accepted >= _ACCEPTED)}\nof {one.begun:,}",
                f"{_marked(len(one.false_verdicts), '', is_met=not one.false_verdicts)}\nof {one.verdicts:,}",
                *(_marked(len(each), "", is_met=not each) for each in (one.false_results, one.sent_back)),
                _marked(one.token_ratio, ".2f", is_met=0 < one.token_ratio <= _TOKENS),
                f"{one.undisturbed_accepted / one.begun:.0%}\n{one.undisturbed_faults} false",
                f"{one.faults.total():,}",
            )
    return made


def _marked(figure: float, form: str, *, is_met: bool) -> str:
    return f"[{'green' if is_met else 'bold red'}]{figure:{form}}[/]"


async def measure(
    recipes: Sequence[str], conversations: int, seed: int, rates: FaultRates, tell: Tell
) -> dict[str, dict[str, Counts]]:
    found: dict[str, dict[str, Counts]] = {}
    async with running_pool(sandboxes=2) as (pool, _):
        for name in recipes:
            forms = {form: _of_use(name, form, seed) for form in FORMS}
            shares = _shares(conversations, [form for form, problems in forms.items() if problems])
            found[name] = {}
            for form, share in shares.items():
                tell(f"{name}, {form}")
                problems = [forms[form][place % len(forms[form])] for place in range(share)]
                run = Run(id=f"{name} {form}", recipe=name, seed=seed, max_turns=_MAX_TURNS, max_attempts=1)
                run.enrich = find(name).always_enriched
                found[name][form] = await _counted(run, problems, rates, pool)
    return found


def _of_use(name: str, form: str, seed: int) -> list[KnownProblem]:
    problems = [
        one
        for one in known_problems(form)
        if not find(name).refuses(one.problem) and not why_unusable(name, one.problem)
    ]
    Random(seed).shuffle(problems)
    return problems


def _shares(conversations: int, forms: Sequence[str]) -> dict[str, int]:
    least, more = divmod(conversations, len(forms))
    return {form: share for place, form in enumerate(forms) if (share := least + (place < more))}


async def _counted(run: Run, problems: Sequence[KnownProblem], rates: FaultRates, pool: JobExecutor) -> Counts:
    counts = _counts(problems, *await play(run, problems, rates, pool))
    undisturbed = _counts(problems, *await play(run, problems, NO_FAULTS, pool))
    counts.undisturbed_tokens, counts.undisturbed_accepted = undisturbed.tokens, undisturbed.accepted
    counts.undisturbed_faults = sum(
        map(len, (undisturbed.false_verdicts, undisturbed.false_results, undisturbed.sent_back))
    )
    return counts


def _counts(problems: Sequence[KnownProblem], played: Sequence[Conversation], drawn: DrawnAnswers) -> Counts:
    counts = Counts(begun=len(played), faults=drawn.faults)
    for known, conversation in zip(problems, played, strict=True):
        counts.sent_back += sent_back(conversation, known, drawn)
        if find(conversation.run.recipe).faults(conversation):
            continue
        counts.accepted += 1
        counts.verdicts += sum(map(is_verdict, conversation.turns))
        counts.false_verdicts += untrue_verdicts(conversation, known, drawn)
        counts.false_results += untrue_results(conversation, known)
    calls = [call for conversation in played for call in calls_of_turns(conversation)]
    spent = sum(call.prompt_tokens + call.completion_tokens for call in calls)
    counts.tokens = spent / max(counts.accepted, 1)
    return counts


async def play(
    run: Run, problems: Sequence[KnownProblem], rates: FaultRates, pool: JobExecutor
) -> tuple[list[Conversation], DrawnAnswers]:
    """Plays a conversation about each problem to its end, none of them a second time."""
    drawn = DrawnAnswers(rates)
    handlers, gate = conversation_handlers(drawn, pool), asyncio.Semaphore(_TOGETHER)

    async def played(place: int, known: KnownProblem) -> Conversation:
        event: Message = opening_event(attempt_at(known.problem, run=run, ordinal=place, attempt=0))
        async with gate:
            while not isinstance(event, ConversationFinished):
                [event] = await handlers[type(event)](event)
        return event.conversation

    # The only fault that the scripted students have without noise is one of these rates.
    with patch.dict(BOOK.tables["scaffold"]["rates"], unlike=0.0):
        return list(await asyncio.gather(*(played(*one) for one in enumerate(problems)))), drawn
