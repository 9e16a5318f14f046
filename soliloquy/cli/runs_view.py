"""Says what a run would take, how far it is, and what it was, and shows its conversations."""

import shlex
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.text import Text

from soliloquy.cli.progress import duration
from soliloquy.cli.tables import SUPPORTS, conversation_line, facts, table
from soliloquy.cli.terminal import echo, json_line, open_console, visible
from soliloquy.client import is_over, state_of
from soliloquy.recipes.calls import calls_of
from soliloquy.runtime.model.costs import KINDS
from soliloquy.runtime.model.spending import Budget
from soliloquy.v1.events_pb2 import CallAudited, RunProgress
from soliloquy.v1.gateway_pb2 import (
    DatasetState,
    FinishedConversation,
    ForecastBasis,
    GetConversationResponse,
    Interval,
    RunForecast,
    RunStatus,
    Template,
)

if TYPE_CHECKING:
    from soliloquy.dataset.reading import Dataset

# How many of a model's answers could be read, by the names of `answers.py`.
_ANSWERS = {"repaired": "repaired", "reasked": "asked for again", "failed": "given up"}
# So many prompts are named.
_MOST_PROMPTS = 3


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
        "verdicts": _listed({words: report["verification"].get(name, 0) for name, words in SUPPORTS.items()}),
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


_COUNTS = {
    "calls": "calls",
    "tokens read": "prompt_tokens",
    "  of them from a cache": "cached_tokens",
    "tokens written": "completion_tokens",
}


def tell_forecast(forecast: RunForecast, *, as_json: bool) -> None:
    if as_json:
        echo(to_json(forecast))
        return

    def cells(field: str, form: str = "{:,.0f}") -> list[str]:
        if not forecast.HasField(field):
            return ["unknown"]
        return [duration(value) if field == "seconds" else form.format(value) for value in _values(forecast, field)]

    rows = [(name, *cells(field)) for name, field in _COUNTS.items()]
    if forecast.dollars.expected:
        rows.append(("USD", *cells("dollars", "{:,.4g}")))
    rows.append(("time", *cells("seconds")))
    open_console().print(table("", "expected", "from", "to", rows=rows))
    if forecast.unpriced:
        spent = forecast.dollars.expected if forecast.HasField("dollars") else None
        echo(f"cost: {cost_line(spent, list(forecast.unpriced))}")
    echo(_basis(forecast))


def _values(forecast: RunForecast, field: str) -> tuple[float, float, float]:
    interval: Interval = getattr(forecast, field)
    return interval.expected, interval.low, interval.high


def _basis(forecast: RunForecast) -> str:
    wanted = (
        f"For {forecast.request.conversations:,} conversations, {forecast.request.in_flight} at once, from "
        f"{forecast.accepted} accepted ones about {forecast.problems} problems"
    )
    bounds = "Nine in ten draws of as many problems lie between the bounds."
    if forecast.basis != ForecastBasis.FORECAST_BASIS_REHEARSAL:
        return f"{wanted} in {'run ' if forecast.basis else ''}{forecast.like}. {bounds}"
    return (
        f"{wanted} that the scripted model played: no such run is over at this gateway. {bounds} Another model's "
        "conversations may be longer or shorter, and caches would make them cheaper: a run of ten tells more."
    )


def tell_pilot(forecast: RunForecast, budget: Budget, *, as_json: bool) -> None:
    """Tells the first prompts, what the run would take, and how much of it a budget allows."""
    for name, text in sorted(forecast.prompts.items()) if not as_json else ():
        echo(f"--- {name}\n{text}\n")
    tell_forecast(forecast, as_json=as_json)
    if as_json or not budget.is_set:
        return
    tokens = forecast.prompt_tokens.expected + forecast.completion_tokens.expected
    limits = [(budget.dollars, forecast.dollars.expected), (budget.tokens, tokens)]
    share = min((limit / wanted for limit, wanted in limits if limit is not None and wanted), default=1.0)
    enough = f" for about {share * forecast.request.conversations:,.0f} conversations" if share < 1 else ""
    echo(f"The budget of {budget} is enough{enough}.")


_DATASET = {
    DatasetState.DATASET_STATE_UNSPECIFIED: "not seen by this gateway",
    DatasetState.DATASET_STATE_WRITING: "being written",
    DatasetState.DATASET_STATE_WRITTEN: "written",
    DatasetState.DATASET_STATE_INCOMPLETE: "incomplete",
}


def tell_status(status: RunStatus, *, as_json: bool = False) -> None:
    if as_json:
        echo(to_json(status))
        return
    asked, progress = status.request, status.progress
    tokens = progress.tokens.values()
    rows = {
        "run": status.id,
        "name": status.name,
        "state": state_of(status) + (f": {status.because}" if status.because else ""),
        "requested": f"{asked.conversations or '?'} of {asked.problems or '?'} by {asked.recipe}, seed {asked.seed}",
        "model": status.model or "unknown",
        "changed prompts": ", ".join(status.changed_prompts),
        "started": _when(status.requested_at) + (f" by {status.requested_by}" if status.requested_by else ""),
        "tenant": status.tenant,
        "accepted": progress.accepted,
        "rejected": f"{progress.rejected}{_reasons(progress.reasons)}",
        "given up": progress.given_up,
        "under way": under_way(progress),
        "dead letters": progress.dead_letters,
        "turns": f"{progress.turns}, {progress.python_turns} with Python",
        "unverified": f"{progress.unverified} of {progress.verdicts} verdicts",
        "false statements": progress.flags,
        "tokens": tokens_line({kind: sum(getattr(used, kind) for used in tokens) for kind in KINDS}),
        "cost": cost_line(status.cost, status.unpriced) or "nothing",
        "duration": _span((status.changed_at if is_over(status) else time.time()) - status.requested_at),
        "dataset": _dataset(status),
        "rate": f"{status.rate:.1f}/s" + (f", {_span(status.eta_seconds)} left" if status.eta_seconds else ""),
    }
    if is_over(status):
        del rows["rate"], rows["under way"]
    for name in ("changed prompts", "tenant"):
        if not rows[name]:
            del rows[name]
    open_console().print(facts(rows))


def under_way(progress: RunProgress) -> str:
    """Returns how many conversations are under way, and how many of these are held."""
    return f"{progress.under_way}" + (f" ({progress.held} held)" if progress.held else "")


def _dataset(status: RunStatus) -> str:
    """Returns how far the dataset is and the name of its folder, which is all that a gateway tells of its machine."""
    known = status.dataset != DatasetState.DATASET_STATE_UNSPECIFIED
    return _DATASET[status.dataset] + (f", in {status.id} of the collector's --data or --store" if known else "")


def _reasons(reasons: Mapping[str, int]) -> str:
    """Returns the rules that conversations break, the commonest first."""
    counted = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return f" ({', '.join(f'{count} {rule}' for rule, count in counted)})" if counted else ""


def run_line(status: RunStatus) -> str:
    done = f"{status.progress.accepted}/{status.request.conversations or '?'}"
    left = f"{status.rate:.1f}/s, {_span(status.eta_seconds)} left" if status.eta_seconds else ""
    whose = f"{status.requested_by} of {status.tenant}" if status.tenant else status.requested_by
    started = f"{_when(status.requested_at)} {whose}".rstrip()
    named = f"{status.name} by {status.request.recipe}"
    return f"{status.id}  {state_of(status):<9} {done:>13}  {started}  {named}  {left}".rstrip()


def audit_line(call: CallAudited) -> str:
    who = f"{call.who} of {call.tenant}" if call.tenant else call.who
    return str(visible(f"{_when(call.at)}  {who}  {call.what} {call.target}  {call.outcome}"))


def template_line(template: Template) -> str:
    told = f"{template.schedule} (UTC), next at {_when(template.next_at)}" if template.schedule else "no schedule"
    request = template.request
    asked = f"{request.conversations:,} of {request.problems} by {request.recipe}"
    return str(visible(f"{template.name}  {asked}  {told}"))


def print_conversation(found: GetConversationResponse, *, as_json: bool) -> None:
    # Arrow is loaded when there is something to show.
    from soliloquy.cli.show import record_of, show_conversation

    flags = [MessageToDict(flag, preserving_proto_field_name=True) for flag in found.flags]
    if as_json:
        judged = {"accepted": found.accepted, "reasons": list(found.reasons), "flags": flags}
        echo(json_line({**record_of(found.conversation), **judged}))
        return
    console = open_console(soft_wrap=False)
    show_conversation(found.conversation, console)
    for reason in found.reasons:
        console.print(Text(visible(f"rejected: {reason}"), style="red"))
    for flag in found.flags:
        console.print(Text(visible(f"turn {flag.turn}: {flag.claim}: {flag.evidence}"), style="red"))


def finished_line(finished: FinishedConversation) -> str:
    verdict = "accepted" if finished.accepted else "rejected"
    return conversation_line(f"{finished.id}  {verdict}", finished.ending, finished.summary)


def to_json(message: Message) -> str:
    """Returns the JSON that the gateway answers over HTTP."""
    shown = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    return json_line(shown)


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s" if minutes else f"{rest}s"
