"""Writes the page's first view: key figures, plots, and how the dataset was generated."""

from collections.abc import Callable, Iterable, Iterator
from html import escape

from soliloquy.dataset.card import DatasetSummary, again, hashes, limits, settings, title
from soliloquy.dataset.report.coverage import coverage
from soliloquy.dataset.report.figures import conversations, duration_text, running
from soliloquy.dataset.report.findings import Findings
from soliloquy.dataset.report.quality import headline, quality

_SECTIONS: dict[str, Callable[[Findings], Iterator[str]]] = {
    "Quality": quality,
    "Coverage": coverage,
    "Conversations": conversations,
    "Generation": running,
}


def overview(summary: DatasetSummary, found: Findings, *, browsed: int) -> str:
    """`browsed` is the number of conversations that the page holds."""
    notes = []
    # A collector writes shards before the run is over.
    if "growing" in summary.manifest["run"]:
        notes.append("The run is still going on: this is its state so far.")
    if browsed < found.generated:
        notes.append(f"The figures count all conversations; the page holds {browsed:,} of them, evenly spaced.")
    return "\n".join(
        [
            f'<p class="eyebrow">{escape(_eyebrow(summary))}</p>',
            f"<h1>{escape(title(found.accepted))}</h1>",
            *(f'<p class="note">{note}</p>' for note in notes),
            f'<dl class="strip">{"".join(headline(found))}</dl>',
            *sections(found),
            f'<div class="grown">{_grown(summary, found)}</div>',
        ]
    )


def sections(found: Findings) -> Iterator[str]:
    for name, cards in _SECTIONS.items():
        if drawn := "".join(cards(found)):
            yield f'<h2>{name}</h2><div class="plots">{drawn}</div>'


def _eyebrow(summary: DatasetSummary) -> str:
    models = sorted({model for _, _, model, _ in summary.accepted.models})
    run = summary.manifest["run"]
    shown = [f"{name} {run[name]}" for name in ("recipe", "seed") if name in run]
    shown += [f"model {', '.join(models)}"] if models else []
    return " · ".join([*shown, f"soliloquy {run['soliloquy']}"] if "soliloquy" in run else shown)


def _grown(summary: DatasetSummary, found: Findings) -> str:
    command, note = again(summary)
    shown = f"<pre>{escape(command)}</pre>" if command else ""
    digests = _pairs(hashes(summary))
    folded = f"<details><summary>Prompts and contract</summary><dl>{digests}</dl></details>" if digests else ""
    seconds = found.durations.seconds
    pauses = f", and {duration_text(found.durations.paused)} of pauses" if found.durations.paused else ""
    took = [("duration", duration_text(seconds) + pauses)] if seconds else []
    items = "".join(f"<li>{escape(limit)}</li>" for limit in limits(summary))
    return (
        f"<section><h2>Generate it again</h2>{shown}<p>{escape(note)}</p>{folded}</section>"
        f"<section><h2>The run</h2><dl>{_pairs([*took, *settings(summary)])}</dl></section>"
        f"<section><h2>Limits</h2><ul>{items}</ul></section>"
    )


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    def cell(value: str) -> str:
        kind = ' class="digest"' if len(value) == 64 else ""
        return f"<dd{kind}>{escape(value)}</dd>"

    return "".join(f"<dt>{escape(name)}</dt>{cell(value)}" for name, value in rows)
