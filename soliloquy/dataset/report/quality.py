"""Shows how far a dataset can be relied on: the headline figures, and the cards that explain them."""

from collections.abc import Iterator
from html import escape

from soliloquy.dataset.report.findings import Findings
from soliloquy.dataset.report.plots import Bar, bars, card, most, shares

_SUPPORTS = {"program": "a program that ran", "step": "a step worked through before", "none": "nothing: unverified"}

_ADVICE = (
    "For fewer unverified verdicts, give the steps of your problems an expression and a result with its number, "
    "add a check of your own, or generate with --verified, which rejects these conversations."
)


def headline(found: Findings) -> Iterator[str]:
    accepted, sample = found.accepted, found.sample
    turns = f" ({accepted.turns:,} turns)" if accepted.words else ""
    about = f"{accepted.conversations:,} of {found.generated:,} generated {found.things} accepted{turns}"
    yield _figure(_percent(accepted.conversations, found.generated), about)
    if found.verdicts:
        about = (
            f"{found.unverified:,} of {found.verdicts:,} verdicts on an answer are unverified: nothing supports them"
        )
        yield _figure(_percent(found.unverified, found.verdicts), about, bad=bool(found.unverified))
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
        yield _figure(_percent(sample.alike, compared), about, bad=bool(sample.alike))


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
    several = " A conversation may have several reasons." if found.of_rejected.reasons.total() > whole else ""
    gist = f"{whole:,} of {found.generated:,} generated {found.things}.{several}"
    reasons = most(found.of_rejected.reasons)
    links = {name: f"outcome={name}" for name in found.of_rejected.reasons}
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


def _percent(part: int, whole: int) -> str:
    """Returns 0 % only for none and 100 % only for all."""
    share = round(part / (whole or 1) * 100, 1)
    if 0 < part < whole:
        share = min(max(share, 0.1), 99.9)
    return f"{share:g} %"
