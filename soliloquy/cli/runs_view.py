"""Prints runs and their conversations, as a gateway answers them."""

import time
from collections.abc import Mapping

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.text import Text

from soliloquy.cli.summary import cost_line, tokens_line
from soliloquy.cli.tables import conversation_line, facts
from soliloquy.cli.terminal import echo, json_line, open_console, visible
from soliloquy.client import is_over, state_of
from soliloquy.runtime.model.costs import KINDS
from soliloquy.v1.gateway_pb2 import DatasetState, FinishedConversation, GetConversationResponse, RunStatus

_DATASET = {
    DatasetState.DATASET_STATE_UNSPECIFIED: "not seen by this gateway",
    DatasetState.DATASET_STATE_WRITING: "being written",
    DatasetState.DATASET_STATE_WRITTEN: "written",
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
        "accepted": progress.accepted,
        "rejected": f"{progress.rejected}{_reasons(progress.reasons)}",
        "given up": progress.given_up,
        "under way": progress.under_way,
        "dead letters": progress.dead_letters,
        "turns": f"{progress.turns}, {progress.python_turns} with Python",
        "unverified": f"{progress.unverified} of {progress.verdicts} verdicts",
        "false statements": progress.flags,
        "tokens": tokens_line({kind: sum(getattr(used, kind) for used in tokens) for kind in KINDS}),
        "cost": cost_line(status.cost, status.unpriced) or "0",
        "duration": _span((status.changed_at if is_over(status) else time.time()) - status.requested_at),
        "dataset": _dataset(status),
        "rate": f"{status.rate:.1f}/s" + (f", {_span(status.eta_seconds)} left" if status.eta_seconds else ""),
    }
    if is_over(status):
        del rows["rate"], rows["under way"]
    if not status.changed_prompts:
        del rows["changed prompts"]
    open_console().print(facts(rows))


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
    started = f"{_when(status.requested_at)} {status.requested_by}".rstrip()
    named = f"{status.name} by {status.request.recipe}"
    return f"{status.id}  {state_of(status):<9} {done:>13}  {started}  {named}  {left}".rstrip()


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
