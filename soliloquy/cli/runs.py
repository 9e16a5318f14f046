"""`soliloquy runs`: starts, watches, shows and controls the runs of a gateway."""

import json
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import click
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.console import Console
from rich.text import Text

from soliloquy.cli.options import AS_JSON, SEED, count_option
from soliloquy.cli.progress import progress_bar
from soliloquy.cli.runs_options import gateway_options
from soliloquy.cli.tables import ending, facts, short
from soliloquy.client import (
    Runs,
    is_over,
    state_of,
)
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runs.progress import RunCounts
from soliloquy.v1.gateway_pb2 import FinishedConversation, GetConversationResponse, RunStatus
from soliloquy.v1.runs_pb2 import RunState

_STATES = tuple(name.removeprefix("RUN_STATE_").lower() for name in RunState.keys()[1:])
_INCOMPLETE = 1
_EXIT = {
    RunState.RUN_STATE_FINISHED: 0,
    RunState.RUN_STATE_SHORT: _INCOMPLETE,
    RunState.RUN_STATE_CANCELLED: _INCOMPLETE,
}
_run = click.argument("run")


@click.group()
def runs() -> None:
    """Start, watch, show and control the runs of a gateway.

    A run belongs to the gateway: it continues whether or not anybody watches it.
    """


@runs.command()
@click.option("--problems", required=True, metavar="BANK|FILE", help="The name of a bank, or of a file of the gateway.")
@click.option("--recipe", default=DEFAULT, show_default=True, help="The recipe of the conversations.")
@click.option("--conversations", required=True, type=click.IntRange(min=1), help="Accepted conversations wanted.")
@SEED
@click.option("--in-flight", default=0, type=click.IntRange(min=0), help="Conversations at once; 0 for the default.")
@click.option("--max-turns", default=0, type=click.IntRange(min=0), help="Turns in a conversation; 0 for the default.")
@click.option("--max-attempts", default=0, type=click.IntRange(min=0), help="Tries at a problem; 0 for the default.")
@click.option("--enrich", is_flag=True, help="Explain and outline each solution for the tutor first.")
@click.option("--watch", "watch_run", is_flag=True, help="Then watch it, like `soliloquy runs watch`.")
@AS_JSON
@gateway_options
@click.pass_context
def start(context: click.Context, /, *, runs: Runs, watch_run: bool, as_json: bool, **request: Any) -> None:
    """Start a run, and print its id."""
    with runs:
        status = runs.start(**request)
        if watch_run:
            context.exit(_watch(runs, status, as_json=as_json))
    click.echo(_json(status) if as_json else status.id)


@runs.command("list")
@click.option("--state", type=click.Choice(_STATES), help="Only runs in this state.")
@AS_JSON
@gateway_options
def list_runs(*, runs: Runs, state: str | None, as_json: bool) -> None:
    """List the runs, latest first."""
    with runs:
        found = False
        for status in runs.list(state or ""):
            found = True
            click.echo(_json(status) if as_json else _run_line(status))
    if not (found or as_json):
        click.echo("no runs")


@runs.command()
@_run
@AS_JSON
@gateway_options
@click.pass_context
def watch(context: click.Context, /, *, runs: Runs, run: str, as_json: bool) -> None:
    """Watch a run until it is over; it survives restarts of the gateway.

    The exit status is 0 if the run has all its conversations, 1 if it ended with fewer, and 130 after Ctrl-C, which
    stops watching but not the run.
    """
    with runs:
        context.exit(_watch(runs, runs.get(run), as_json=as_json))


def _control(name: str, purpose: str, call: Callable[[Runs, str], RunStatus]) -> click.Command:
    """Returns the command that calls the gateway about one run, and prints the status of the run."""

    @_run
    @AS_JSON
    @gateway_options
    def control(*, runs: Runs, run: str, as_json: bool) -> None:
        with runs:
            status = call(runs, run)
        if as_json:
            click.echo(_json(status))
        else:
            _print_status(status)

    return click.command(name, help=purpose)(control)


for command in (
    _control("show", "Show the state and the progress of a run.", Runs.get),
    _control("pause", "Pause a run: conversations under way finish, and no others start.", Runs.pause),
    _control("resume", "Resume a paused run.", Runs.resume),
    _control("cancel", "Cancel a run for good: conversations under way are dropped, accepted ones stay.", Runs.cancel),
):
    runs.add_command(command)


@runs.command()
@_run
@click.argument("conversation", required=False)
@count_option("--limit", 100, "The largest number to list.")
@click.option("--follow", is_flag=True, help="Conversations as they finish, until Ctrl-C.")
@AS_JSON
@gateway_options
def conversations(*, runs: Runs, run: str, conversation: str | None, limit: int, follow: bool, as_json: bool) -> None:
    """List a run's finished conversations, latest first, or show one with the tutor's hidden soliloquies."""
    if follow and conversation:
        raise click.UsageError("--follow shows every conversation as it finishes: remove the id")
    with runs:
        if conversation:
            _show(runs.conversation(run, conversation), as_json=as_json)
            return
        for finished in runs.tail(run) if follow else islice(runs.conversations(run), limit):
            click.echo(_json(finished) if as_json else _line(finished))


def _watch(runs: Runs, first: RunStatus, *, as_json: bool) -> int:
    """Returns the exit status for how the run ended."""
    last = first
    if as_json:
        for last in runs.watch(first.id):
            click.echo(_json(last))
        return _EXIT[last.state]
    try:
        there = first.progress.accepted
        with progress_bar(wanted=first.request.conversations, resumed_from=there) as show_progress:
            for last in runs.watch(first.id):
                show_progress(_counts(last), _pause_reason(last))
    finally:
        if not is_over(last):
            click.echo(f"run {first.id} continues: soliloquy runs watch {first.id}", err=True)
    _print_status(last)
    return _EXIT[last.state]


def _counts(status: RunStatus) -> RunCounts:
    return RunCounts(accepted=status.progress.accepted, rejected=status.progress.rejected, cost=status.cost)


def _pause_reason(status: RunStatus) -> str:
    if status.state == RunState.RUN_STATE_PAUSED:
        return f"paused  {status.progress.under_way} under way"
    return status.because


def _print_status(status: RunStatus) -> None:
    asked, progress = status.request, status.progress
    tokens = progress.tokens.values()
    rows = {
        "run": status.id,
        "state": state_of(status) + (f": {status.because}" if status.because else ""),
        "asked for": f"{asked.conversations or '?'} of {asked.problems or '?'} by {asked.recipe}, seed {asked.seed}",
        "started": _when(status.requested_at) + (f" by {status.requested_by}" if status.requested_by else ""),
        "accepted": progress.accepted,
        "rejected": progress.rejected,
        "given up": progress.given_up,
        "under way": progress.under_way,
        "dead letters": progress.dead_letters,
        "turns": f"{progress.turns}, {progress.python_turns} with Python",
        "flags": progress.flags,
        "tokens": f"{sum(used.prompt for used in tokens)} prompt, {sum(used.completion for used in tokens)} completion",
        "cost": f"{status.cost:.6g}",
        "rate": f"{status.rate:.1f}/s" + (f", {_span(status.eta_seconds)} left" if status.eta_seconds else ""),
    }
    if is_over(status):
        del rows["rate"], rows["under way"]
    Console().print(facts(rows))


def _run_line(status: RunStatus) -> str:
    done = f"{status.progress.accepted}/{status.request.conversations or '?'}"
    asked = f"{status.request.problems or '?'} by {status.request.recipe}"
    left = f"{status.rate:.1f}/s, {_span(status.eta_seconds)} left" if status.eta_seconds else ""
    started = f"{_when(status.requested_at)} {status.requested_by}".rstrip()
    return f"{status.id}  {state_of(status):<9} {done:>13}  {started}  {asked}  {left}".rstrip()


def _show(found: GetConversationResponse, *, as_json: bool) -> None:
    # Arrow is loaded when there is something to show.
    from soliloquy.cli.show import record_of
    from soliloquy.cli.view import show_conversation

    flags = [MessageToDict(flag, preserving_proto_field_name=True) for flag in found.flags]
    if as_json:
        judged = {"accepted": found.accepted, "reasons": list(found.reasons), "flags": flags}
        click.echo(json.dumps({**record_of(found.conversation), **judged}, ensure_ascii=False))
        return
    console = Console(soft_wrap=False, highlight=False)
    show_conversation(found.conversation, console)
    for reason in found.reasons:
        console.print(Text(f"rejected: {reason}", style="red"))
    for flag in found.flags:
        console.print(Text(f"turn {flag.turn}: {flag.claim}: {flag.evidence}", style="red"))


def _line(finished: FinishedConversation) -> str:
    summary = finished.summary
    verdict = "accepted" if finished.accepted else "rejected"
    line = f"{verdict}  {ending(finished.ending):<10} {summary.turns:>2} turns {summary.python_turns:>2} with Python"
    flags = f"  {summary.flags} flags" if summary.flags else ""
    return f"{finished.id}  {line}{flags}  {summary.topic:<12}  {short(summary.question)}".rstrip()


def _json(message: Message) -> str:
    """Returns the JSON that the gateway answers over HTTP."""
    shown = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    return json.dumps(shown, ensure_ascii=False)


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s" if minutes else f"{rest}s"
