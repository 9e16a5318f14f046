"""The page's first view: how many conversations, how right and how fast; what they come to; how they were grown."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from soliloquy.dataset.card import DatasetSummary, again, hashes, is_growing, limits, settings, thing, title
from soliloquy.dataset.durations import Durations, quantile
from soliloquy.dataset.report.figures import duration_text, figures


def overview(counted: DatasetSummary, durations: Durations, *, browsed: int) -> str:
    """`browsed` is how many of the conversations the page holds."""
    kept = counted.accepted
    grown = kept.conversations + counted.rejected.conversations
    notes = []
    if is_growing(counted):
        notes.append("The run goes on: this is what has come in so far.")
    if browsed < grown:
        notes.append(f"All of them are counted here; {browsed:,}, taken evenly, are there to read.")
    return "\n".join(
        [
            f'<p class="eyebrow">{escape(_eyebrow(counted))}</p>',
            f"<h1>{escape(title(kept))}</h1>",
            *(f'<p class="note">{note}</p>' for note in notes),
            f'<dl class="strip">{"".join(_strip(counted, durations))}</dl>',
            f'<div class="plots">{"".join(figures(kept, counted.rejected, durations))}</div>',
            f'<div class="grown">{_grown(counted)}</div>',
        ]
    )


def _eyebrow(counted: DatasetSummary) -> str:
    models = sorted({model for _, _, model, _ in counted.accepted.models})
    run = counted.manifest["run"]
    told = [f"{name} {run[name]}" for name in ("recipe", "seed") if name in run]
    return " · ".join([*told, f"model {', '.join(models)}" if models else "", _version(run)]).strip(" ·")


def _version(run: Any) -> str:
    return f"soliloquy {run['soliloquy']}" if "soliloquy" in run else ""


def _strip(counted: DatasetSummary, durations: Durations) -> Iterator[str]:
    kept, dropped = counted.accepted, counted.rejected
    grown = kept.conversations + dropped.conversations
    said = f", {kept.turns:,} turns" if kept.words else ""
    yield _figure(f"{kept.conversations:,}", "", f"{thing(kept)} kept of {grown:,} grown{said}")
    if verdicts := kept.verdicts.total():
        about = f"of {verdicts:,} evaluations agree with what their program found"
        yield _figure(*_percent(kept.agreeing, verdicts), about, "right")
    if programs := kept.attempts.total():
        yield _figure(*_percent(kept.attempts[1], programs), f"of {programs:,} calculations ran at the first attempt")
    if durations.collected:
        median = quantile(durations.programs, 0.5)
        within = f"; half of the programs within {duration_text(median)}" if median else ""
        about = f"{thing(kept)} over {duration_text(durations.seconds)}{within}"
        yield _figure(f"{durations.per_second:,.3g}", "/s", about)


def _figure(number: str, unit: str, about: str, kind: str = "") -> str:
    small = f"<small>{unit}</small>" if unit else ""
    return f'<div class="{kind}"><dt>{escape(about)}</dt><dd>{number}{small}</dd></div>'


def _percent(part: int, whole: int) -> tuple[str, str]:
    """Rounded down: all is said only of all."""
    return f"{part * 1_000 // whole / 10:g}", "%"


def _grown(counted: DatasetSummary) -> str:
    command, note = again(counted)
    shown = f"<pre>{escape(command)}</pre>" if command else ""
    digests = hashes(counted)
    told = "".join(f"<li>{escape(limit)}</li>" for limit in limits(counted.accepted))
    return (
        f"<section><h2>Grow it again</h2>{shown}<p>{escape(note)}</p>"
        f"{_folded('Prompts and contract', digests) if digests else ''}</section>"
        f"<section><h2>The run</h2><dl>{_pairs(settings(counted))}</dl></section>"
        f"<section><h2>Limits</h2><ul>{told}</ul></section>"
    )


def _folded(name: str, rows: Iterable[tuple[str, str]]) -> str:
    return f"<details><summary>{escape(name)}</summary><dl>{_pairs(rows)}</dl></details>"


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    def cell(value: str) -> str:
        kind = ' class="digest"' if len(value) == 64 else ""
        return f"<dd{kind}>{escape(value)}</dd>"

    return "".join(f"<dt>{escape(name)}</dt>{cell(value)}" for name, value in rows)
