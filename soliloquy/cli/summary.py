"""Sums a run up in words at its end."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from soliloquy.recipes.calls import calls_of

if TYPE_CHECKING:
    from soliloquy.dataset.reading import Dataset

# How many of a model's answers could be read, by the names of `answers.py`.
_ANSWERS = {"repaired": "repaired", "reasked": "asked for again", "failed": "given up"}
# So many prompts are named.
_MOST_PROMPTS = 3
_SUPPORTS = {"program": "by a program", "step": "by a step worked through before", "none": "unverified"}


def summary(report: Mapping[str, Any], dataset: object) -> dict[str, str]:
    """Returns a line for each thing that occurs in a run."""
    conversations = f"{report['accepted']:,} accepted of {report['requested']:,}, {report['rejected']:,} rejected"
    rows = {
        "conversations": conversations,
        "problems given up": f"{report['failed']:,g}" if report["failed"] else "",
        "explanations": _listed(report["enrichment"]),
        "not usable": _listed(report["unfit"]),
        "turns": f"{report['turns']:,}, {report['python_turns']:,} with a calculation",
        "programs": _listed({"ran" if name == "ok" else name: count for name, count in report["executions"].items()}),
        "verdicts": _listed({words: report["verification"].get(name, 0) for name, words in _SUPPORTS.items()}),
        "tutor and program": _listed(report["verdicts"]),
        "asked again most": ", ".join(most_asked_again(report).values()),
        "model's answers": ", ".join(_answers(report["parse"])),
        "tokens": tokens_line(report["tokens"]),
        "cost": cost_line(report["cost"], report["unpriced"]),
        "billed": _billed(report["spent"]),
        "duration": f"{report['seconds']:g} s",
        "dataset": str(dataset),
    }
    return {name: value for name, value in rows.items() if value}


def tokens_line(used: Mapping[str, float]) -> str:
    cached, thoughts = used.get("cached", 0), used.get("reasoning", 0)
    read = f"{used['prompt']:,} read" + (f" ({cached / used['prompt']:.0%} from a cache)" if cached else "")
    return f"{read}, {used['completion']:,} written" + (f" ({thoughts:,} of them thoughts)" if thoughts else "")


def cost_line(cost: float | None, unpriced: Sequence[str]) -> str:
    """Returns what is known of a cost in dollars, and for which accounts nothing is; empty if it cost nothing."""
    if not unpriced:
        return f"{cost:,.4g} USD" if cost else ""
    lacking = f"no price is known for {', '.join(unpriced)}: set prompt_price and completion_price in --model-settings"
    return f"{cost:,.4g} USD and more, {lacking}" if cost else f"unknown, {lacking}"


def _billed(spent: Mapping[str, Any]) -> str:
    """Returns what all requests of a run were billed, those included whose conversation is in no dataset."""
    if not spent["requests"] and not spent["lost"]["requests"]:
        return ""
    said = f"{spent['requests']:,} requests, {tokens_line(spent)}"
    said += f", {spent['dollars']:,.4g} USD" if spent["dollars"] else ""
    if (lost := spent["lost"])["requests"]:
        most = f"{lost['dollars']:,.4g} USD" if lost["dollars"] else f"{lost['tokens']:,} tokens"
        said += f"; {lost['requests']:,} more without an answer, {most} at most"
    return said


def most_asked_again(report: Mapping[str, Any]) -> dict[str, str]:
    """Returns the prompts whose answers were asked for again most often, with the share and the commonest reason."""
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for named, count in report["asked_again"].items():
        prompt, _, reason = named.partition(": ")
        reasons[prompt][reason.replace("_", " ")] += count
    most = sorted(reasons, key=lambda prompt: -reasons[prompt].total())[:_MOST_PROMPTS]
    return {
        prompt: f"{prompt} {again.total() / max(report['answers'][prompt], 1):.0%} ({again.most_common(1)[0][0]})"
        for prompt in most
        if (again := reasons[prompt])
    }


def next_commands(dataset: object, *, rejected: int, again: str = "") -> str:
    """`again` names a conversation with answers that were asked for again."""
    place = shlex.quote(str(dataset))
    lines = [f"Read it: soliloquy show {place}", f"See its figures: soliloquy report {place}"]
    if rejected:
        lines.append(f"See what was rejected and why: soliloquy show {place} --rejected")
    if again:
        lines.append(f"See what was asked again: soliloquy show {place} {again}")
    return "\n".join(lines)


def asked_again_in(dataset: "Dataset", prompt: str) -> str:
    """Names a conversation, as `show` takes it, in which an answer to the prompt was asked for again."""
    for rejected in (False, True):
        for conversation in dataset.conversations(rejected=rejected):
            back = (one.prompt for turn in conversation.turns for one in turn.rejected)
            unusable = (call.prompt for call in calls_of(conversation) if len(call.raw) > 1)
            if prompt in chain(back, unusable):
                return conversation.id[:8] + (" --rejected" if rejected else "")
    return ""


def _answers(parse: Mapping[str, int]) -> Iterator[str]:
    yield f"{sum(parse.values()):,}"
    yield from (f"{parse[name]:,} {words}" for name, words in _ANSWERS.items() if parse.get(name))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
