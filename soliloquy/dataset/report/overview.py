"""Writes the page's first view: key figures, plots, and how the dataset was generated."""

from collections.abc import Iterable, Iterator
from html import escape

from soliloquy.dataset.card import DatasetSummary, again, hashes, limits, settings, thing, title
from soliloquy.dataset.durations import Durations, quantile
from soliloquy.dataset.report.figures import duration_text, figures


def overview(summary: DatasetSummary, durations: Durations, *, browsed: int) -> str:
    """`browsed` is the number of conversations that the page holds."""
    kept = summary.accepted
    grown = kept.conversations + summary.rejected.conversations
    notes = []
    # A collector writes shards before the run is over.
    if "growing" in summary.manifest["run"]:
        notes.append("The run is still going on: this is its state so far.")
    if browsed < grown:
        notes.append(f"The figures count all conversations; the page holds {browsed:,} of them, evenly spaced.")
    return "\n".join(
        [
            f'<p class="eyebrow">{escape(_eyebrow(summary))}</p>',
            f"<h1>{escape(title(kept))}</h1>",
            *(f'<p class="note">{note}</p>' for note in notes),
            f'<dl class="strip">{"".join(_strip(summary, durations))}</dl>',
            f'<div class="plots">{"".join(figures(kept, summary.rejected, durations))}</div>',
            f'<div class="grown">{_grown(summary)}</div>',
        ]
    )


def _eyebrow(summary: DatasetSummary) -> str:
    models = sorted({model for _, _, model, _ in summary.accepted.models})
    run = summary.manifest["run"]
    shown = [f"{name} {run[name]}" for name in ("recipe", "seed") if name in run]
    shown += [f"model {', '.join(models)}"] if models else []
    return " · ".join([*shown, f"soliloquy {run['soliloquy']}"] if "soliloquy" in run else shown)


def _strip(summary: DatasetSummary, durations: Durations) -> Iterator[str]:
    kept, dropped = summary.accepted, summary.rejected
    grown = kept.conversations + dropped.conversations
    said = f", {kept.turns:,} turns" if kept.words else ""
    yield _figure(f"{kept.conversations:,}", "", f"{thing(kept)} kept of {grown:,} generated{said}")
    if verdicts := kept.judged:
        about = f"of {verdicts:,} evaluations agree with their program's verdict"
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
    """Rounds down, so that only all of them make 100 %."""
    return f"{part * 1_000 // whole / 10:g}", "%"


def _grown(summary: DatasetSummary) -> str:
    command, note = again(summary)
    shown = f"<pre>{escape(command)}</pre>" if command else ""
    digests = _pairs(hashes(summary))
    folded = f"<details><summary>Prompts and contract</summary><dl>{digests}</dl></details>" if digests else ""
    items = "".join(f"<li>{escape(limit)}</li>" for limit in limits(summary))
    return (
        f"<section><h2>Generate it again</h2>{shown}<p>{escape(note)}</p>{folded}</section>"
        f"<section><h2>The run</h2><dl>{_pairs(settings(summary))}</dl></section>"
        f"<section><h2>Limits</h2><ul>{items}</ul></section>"
    )


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    def cell(value: str) -> str:
        kind = ' class="digest"' if len(value) == 64 else ""
        return f"<dd{kind}>{escape(value)}</dd>"

    return "".join(f"<dt>{escape(name)}</dt>{cell(value)}" for name, value in rows)
