"""Writes the page's first view: key figures, plots, and how the dataset was generated."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from html import escape

from soliloquy.dataset.card import DatasetSummary, again, hashes, limits, settings, title
from soliloquy.dataset.report.figures import conversations, duration_text, running
from soliloquy.dataset.report.findings import Findings
from soliloquy.dataset.report.plots import Bar, bars, card, most, shares
from soliloquy.dataset.tables import percent

_DIFFICULTIES = {1: "1, the easiest", 2: "2", 3: "3, the hardest"}


def coverage(found: Findings) -> Iterator[str]:
    accepted = found.accepted
    banks = {bank: found.families(bank) for bank in sorted({bank for bank, _ in accepted.families})}
    for bank, families in banks.items():
        if families:
            occurring = {name for of, name in accepted.families if of == bank and name in families}
            covered = Counter(families[name].topic for name in occurring)
            every = Counter(family.topic for family in families.values())
            gist = f"{len(occurring):,} of {len(families):,} families of {bank} problems occur"
            listed = [Bar(topic, (covered[topic],), count) for topic, count in sorted(every.items())]
            yield card("Families", gist, bars(listed))
    if len(accepted.topics) > 1:
        gist = f"{len(accepted.topics):,} topics, {len(accepted.problems):,} problems"
        yield card("Topics", gist, bars(shares(most(accepted.topics), accepted.conversations)))
    if difficulty := _difficulty(found):
        yield difficulty


def _difficulty(found: Findings) -> str:
    graded, dropped = (_by_difficulty(found, counts.families) for counts in (found.accepted, found.rejected))
    steps = {
        f"{number} steps" if number > 1 else "1 step": n for number, n in sorted(found.accepted.steps.items()) if number
    }
    if not graded and not steps:
        return ""
    rated = [
        Bar(name, (graded[level],), graded[level] + dropped[level])
        for level, name in _DIFFICULTIES.items()
        if graded[level] + dropped[level]
    ]
    body = bars(shares({name: graded[level] for level, name in _DIFFICULTIES.items() if graded[level]}))
    body += bars(rated, title="Accepted of those generated, by difficulty") if dropped else ""
    body += bars(shares(steps), title="Steps of the solution")
    gist = "As the bank grades its families" if graded else "By the steps of the problems' solutions"
    return card("Difficulty", gist, body)


def _by_difficulty(found: Findings, families: Counter[tuple[str, str]]) -> Counter[int]:
    counted: Counter[int] = Counter()
    for (bank, name), count in families.items():
        if family := found.families(bank).get(name):
            counted[family.difficulty] += count
    return counted


_SUPPORTS = {"program": "a program that ran", "step": "a step worked through before", "none": "nothing: unverified"}

_ADVICE = (
    "For fewer unverified verdicts, give the steps of your problems an expression and a result with its number, "
    "add a check of your own, or generate with --verified, which rejects these conversations."
)


def headline(found: Findings) -> Iterator[str]:
    accepted, sample = found.accepted, found.sample
    turns = f" ({accepted.turns:,} turns)" if accepted.words else ""
    about = f"{accepted.conversations:,} of {found.generated:,} generated {found.things} accepted{turns}"
    yield _figure(percent(accepted.conversations, found.generated), about)
    if found.verdicts:
        about = (
            f"{found.unverified:,} of {found.verdicts:,} verdicts on an answer are unverified: nothing supports them"
        )
        yield _figure(percent(found.unverified, found.verdicts), about, bad=bool(found.unverified))
    elif unrecorded := found.verdicts_without_record:
        yield _figure(
            "unknown", f"share of unverified verdicts: the dataset does not say what its {unrecorded:,} rest on"
        )
    if sample.checked:
        among = f"{sample.checked:,}" + (
            f" of {accepted.conversations:,}" if sample.checked < accepted.conversations else ""
        )
        about = f"faults found by soliloquy check in {among} accepted {found.things}"
        yield _figure(f"{sample.faults:,}", about, bad=bool(sample.faults))
    if compared := sample.likeness.compared:
        among = f"{compared:,} compared {found.things}" if sample.is_partial else f"{compared:,} {found.things}"
        problems = f"{len(accepted.problems):,} different problem{'s' if len(accepted.problems) > 1 else ''}"
        about = f"{sample.alike:,} of {among} nearly repeat the wording of another ({problems})"
        yield _figure(percent(sample.alike, compared), about, bad=bool(sample.alike))


def quality(found: Findings) -> Iterator[str]:
    if found.verdicts or found.accepted.judged:
        yield _verdicts(found)
    if found.rejected.conversations:
        yield _rejections(found)
    if found.sample.rules:
        checked = found.sample.checked
        yield card(
            "Faults in accepted " + found.things,
            f"in {checked:,} that were checked again",
            bars(shares(most(found.sample.rules), checked, faults=True)),
        )
    if found.accepted.conversations:
        yield _outcomes(found)


def _verdicts(found: Findings) -> str:
    accepted, support = found.accepted, found.accepted.verification
    silent = accepted.turns - found.verdicts
    gist = f"{found.verdicts:,} verdicts on an answer; {silent:,} of {accepted.turns:,} turns give none"
    named = {_SUPPORTS[name]: support[name] for name in ("program", "step") if support[name]}
    nothing = {_SUPPORTS["none"]: found.unverified} if found.unverified else {}
    body = bars(shares(named, found.verdicts) + shares(nothing, found.verdicts, faults=True))
    if judged := accepted.judged:
        title = f"Beside a program's own verdict: {judged:,}"
        against = {"contradicts it": judged - accepted.agreeing} if judged > accepted.agreeing else {}
        agreeing = shares({"agrees with it": accepted.agreeing}, judged)
        body += bars([*agreeing, *shares(against, judged, faults=True)], title=title)
    if found.unverified:
        body += f'<p class="gist">{_ADVICE}</p>'
    return card("What supports the tutor's verdicts", gist, body)


def _rejections(found: Findings) -> str:
    whole = found.rejected.conversations
    several = " A conversation may have several reasons." if found.rejected.reasons.total() > whole else ""
    gist = f"{whole:,} of {found.generated:,} generated {found.things}.{several}"
    reasons = most(found.rejected.reasons)
    links = {name: f"outcome={name}" for name in found.rejected.reasons}
    listed = [Bar(name, (count,), whole, fault=True, link=links.get(name, "")) for name, count in reasons.items()]
    return card("Why some were rejected", gist, bars(listed))


def _outcomes(found: Findings) -> str:
    accepted = found.accepted
    ended = bars(shares(most(accepted.endings), accepted.conversations))
    resolved = bars(shares(most(accepted.resolutions)), title="Whether the student reached the answer")
    return card("Endings", f"of {accepted.conversations:,} accepted {found.things}", ended + resolved)


def _figure(number: str, about: str, *, bad: bool = False) -> str:
    value, _, unit = number.partition(" ")
    small = f"<small>{unit}</small>" if unit else ""
    kind = ' class="fault"' if bad else ""
    return f"<div{kind}><dt>{escape(about)}</dt><dd>{value}{small}</dd></div>"


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
