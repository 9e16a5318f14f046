"""`python -m benchmarks noise-cost`."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console

from benchmarks.command import AS_JSON, generated, status_line, table
from soliloquy.dataset.answer_fates import SENT_BACK, STANDS, TAKEN_BACK
from soliloquy.dataset.mending_counts import MendingCounts
from soliloquy.dataset.reading import Dataset
from soliloquy.standin.faults import LEVELS
from soliloquy.v1.conversation_pb2 import Conversation

_BANKS = {"soliloquy": "physics", "mathdial": "arithmetic", "scaffold": "arithmetic"}
_UNDISTURBED, _LONG = "none", "long"
_FATES = ("form", SENT_BACK, TAKEN_BACK, "not kept")


@click.command()
@click.option("--recipe", "recipes", multiple=True, type=click.Choice(sorted(_BANKS)), default=list(_BANKS))
@click.option("--conversations", default=100, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=5, show_default=True, type=int)
@AS_JSON
def noise_cost(*, recipes: Sequence[str], conversations: int, seed: int, as_json: bool) -> None:
    """Count what each level of `--noise` leaves and costs, recipe by recipe.

    Tokens are relative to a run without noise, and to one of long messages without a fault.
    """
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder, status_line() as tell:
        for recipe in recipes:
            figures[recipe] = {}
            for level in LEVELS:
                tell(f"{recipe}, {level}")
                out = Path(folder) / f"{recipe}-{level}"
                options = ["--recipe", recipe, "--problems", _BANKS[recipe], "--noise", level, "--out", str(out)]
                generated(["--quiet", *options, "--conversations", str(conversations), "--seed", str(seed)])
                figures[recipe][level] = dict(_spent(out))
    if as_json:
        click.echo(json.dumps(figures))
        return
    made = table(
        "recipe",
        "noise",
        "accepted",
        "tokens",
        "to none",
        "to long",
        "first asks",
        *(f"of it {fate}" for fate in _FATES),
    )
    for recipe, levels in figures.items():
        for level, spent in levels.items():
            ratios = [spent["tokens"] / levels[to]["tokens"] for to in (_UNDISTURBED, _LONG)]
            parts = [spent[fate] / levels[_UNDISTURBED]["tokens"] for fate in ("planning", STANDS, *_FATES)]
            shares = [f"{ratio:.2f}" for ratio in (*ratios, *parts)]
            made.add_row(recipe, level, f"{spent['accepted']:.0%}", f"{spent['tokens']:,.0f}", *shares)
    Console().print(made)


def _spent(folder: Path) -> Iterator[tuple[str, float]]:
    """Yields the share that is accepted, and the tokens of an accepted conversation by what they went into."""
    counts = json.loads((folder / "manifest.json").read_text("utf-8"))["counts"]
    kept, dataset = counts["accepted"], Dataset(folder)
    yield "accepted", kept / (kept + counts["rejected"])
    spent = sum(sum(used.values()) for used in counts["tokens"].values())
    yield "tokens", spent / kept
    accepted, rejected = MendingCounts(), MendingCounts()
    for is_rejected, mending_counts in ((False, accepted), (True, rejected)):
        for batch in dataset.batches(["turns", "rewinds"], rejected=is_rejected):
            mending_counts.add(batch)
    form, fates = sum(map(_form_tokens, dataset)), (STANDS, SENT_BACK, TAKEN_BACK)
    yield STANDS, (accepted.spent(STANDS) - form) / kept
    yield "form", form / kept
    for fate in fates[1:]:
        yield fate, accepted.spent(fate) / kept
    yield "not kept", rejected.spent(*fates) / kept
    yield "planning", (spent - accepted.spent(*fates) - rejected.spent(*fates)) / kept


def _form_tokens(conversation: Conversation) -> float:
    """Returns the tokens of standing answers beyond their first asks; all asks of a call count as equally long."""
    return sum(
        (call.prompt_tokens + call.completion_tokens) * (1 - 1 / len(call.raw))
        for turn in conversation.turns
        for back in [{place for one in turn.rejected for place in one.calls}]
        for place, call in enumerate(turn.calls)
        if place not in back and call.raw
    )
