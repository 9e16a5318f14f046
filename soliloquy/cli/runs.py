"""`soliloquy runs`: starts, watches, shows and controls the runs of a gateway."""

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.command import Command, Group, gathered, option, setting
from soliloquy.cli.options import (
    ADDRESS,
    AS_JSON,
    ATTEMPTS,
    COUNT,
    EXISTING_FILE,
    IN_FLIGHT,
    SEED,
    TURNS,
    Choice,
    whole,
)
from soliloquy.cli.progress import progress_bar
from soliloquy.cli.run_file import RUN_FILE
from soliloquy.cli.runs_view import (
    audit_line,
    finished_line,
    print_conversation,
    run_line,
    tell_forecast,
    tell_status,
    template_line,
    to_json,
    under_way,
)
from soliloquy.cli.service_options import LANGUAGE, PROMPTS, TLS_HELP, client_tls
from soliloquy.cli.terminal import echo
from soliloquy.client import NotFound, Runs, is_over
from soliloquy.recipes.packages import DEFAULT
from soliloquy.recipes.prompts import changed_texts
from soliloquy.runs.progress import RunCounts
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_regular_text
from soliloquy.v1.gateway_pb2 import RunStatus
from soliloquy.v1.runs_pb2 import RunState

TOKEN = "SOLILOQUY_TOKEN"
# The time for reaching a gateway and for its answer.
_ANSWER_SECONDS = 5.0


def _runs(
    gateway: str = option(f"The gRPC address of the gateway; {TLS_HELP}", default="127.0.0.1:8081", type=ADDRESS),
    token_file: Path | None = option(f"A file with the token; {TOKEN} can hold it instead.", type=EXISTING_FILE),
) -> Runs:
    return Runs(gateway, token=_token(token_file), tls=client_tls(), deadline_seconds=_ANSWER_SECONDS)


# Not connected yet.
RUNS = gathered(_runs)


def _token(file: Path | None) -> str:
    """Reads the token; the command line never holds it, because every user of the machine can see that."""
    if file is None:
        return os.environ.get(TOKEN, "")
    try:
        token = read_regular_text(file).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} holds no token ({error})") from error
    if not token.isprintable() or not token:
        raise Failure(f"{file} holds no token: put it on a line of its own")
    return token


_STATES = tuple(name.removeprefix("RUN_STATE_").lower() for name in RunState.keys()[1:-1])
_INCOMPLETE = 1
_EXIT = {
    RunState.RUN_STATE_FINISHED: 0,
    RunState.RUN_STATE_SHORT: _INCOMPLETE,
    RunState.RUN_STATE_CANCELLED: _INCOMPLETE,
    RunState.RUN_STATE_DELETED: _INCOMPLETE,
}
_run = click.argument("run", metavar="ID")
# The ids that an ambiguous prefix is answered with.
_SHOWN_IDS = 3


_PROBLEMS = "The name of a bank, or of a file of the gateway."
_NAME = "The name of the run in lists.  [default: made of problems and number]"


def _limit(text: str, most: int) -> Any:
    return setting(f"{text}; 0 for the default.", default=0, show_default=False, type=whole(0, most))


def _request(
    template: str = setting("A template of the gateway, for what is left out here.", default="", metavar="NAME"),
    problems: str = setting(_PROBLEMS, default="", metavar="BANK|FILE"),
    recipe: str = setting(f"The recipe of the conversations.  [default: {DEFAULT}]", default=""),
    conversations: int | None = setting("Accepted conversations wanted.", type=COUNT),
    seed: int = SEED,
    in_flight: int = _limit("Conversations at once", IN_FLIGHT),
    max_turns: int = _limit("Turns in a conversation", TURNS),
    max_attempts: int = _limit("Tries at a problem", ATTEMPTS),
    name: str = setting(_NAME, default=""),
    priority: int = setting("Over the tenant's other runs, from 0 to 9.", default=0, type=whole(0, 9)),
    enrich: bool = setting("Explain and outline each solution for the tutor first."),
) -> dict[str, Any]:
    if not (template or (problems and conversations)):
        raise click.UsageError("start requires --problems and --conversations, or --template")
    return locals()


@click.group(cls=Group)
def runs() -> None:
    """Start, watch, show and control the runs of a gateway.

    A run belongs to the gateway: it continues whether or not anybody watches it. The first characters of an id are
    enough where no other run's id begins with them.
    """


@runs.command()
@RUN_FILE
@click.pass_context
def start(
    context: click.Context,
    /,
    *,
    prompts: Path | None = PROMPTS,
    language: str | None = LANGUAGE,
    dry_run: bool = setting("Say what the run would take, and start nothing."),
    watch_run: bool = setting("Then watch it, like `soliloquy runs watch`.", "--watch"),
    as_json: bool = AS_JSON,
    runs: Runs = RUNS,
    request: dict[str, Any] = gathered(_request),
) -> None:
    """Start a run, and print its id.

    RUN_FILE holds these options in TOML: `max_turns = 8` is --max-turns 8. The command line overrides it.
    """
    if prompts and request["template"] and not request["recipe"]:
        raise click.UsageError("--prompts with --template requires --recipe")
    spoken = language or ""
    changed = changed_texts(request["recipe"] or DEFAULT, prompts, spoken) if prompts else {}
    with runs:
        if dry_run:
            tell_forecast(runs.forecast(**request, prompts=changed, language=spoken), as_json=as_json)
            return
        status = runs.start(**request, prompts=changed, language=spoken)
        if watch_run:
            context.exit(_watch(runs, status, as_json=as_json))
    echo(to_json(status) if as_json else status.id)


@runs.command("list")
def list_runs(
    *,
    state: str | None = setting("Only runs in this state.", type=Choice(_STATES)),
    as_json: bool = AS_JSON,
    runs: Runs = RUNS,
) -> None:
    """List the runs, latest first."""
    with runs:
        found = False
        for status in runs.list(state or ""):
            found = True
            echo(to_json(status) if as_json else run_line(status))
    if not (found or as_json):
        echo("no runs")


@runs.command()
@_run
def watch(*, as_json: bool = AS_JSON, runs: Runs = RUNS, run: str) -> int:
    """Watch a run until it is over; it survives restarts of the gateway.

    The exit status is 0 if the run has all its conversations, 1 if it ended with fewer, and 130 after Ctrl-C, which
    stops watching but not the run.
    """
    with runs:
        return _watch(runs, _of_run(runs, run, Runs.get), as_json=as_json)


def _control(name: str, purpose: str, call: Callable[[Runs, str], RunStatus]) -> click.Command:
    """Returns the command that calls the gateway about one run, and prints the status of the run."""

    @_run
    def control(*, as_json: bool = AS_JSON, runs: Runs = RUNS, run: str) -> None:
        with runs:
            status = _of_run(runs, run, call)
        tell_status(status, as_json=as_json)

    return click.command(name, cls=Command, help=purpose)(control)


for command in (
    _control("show", "Show the state and the progress of a run.", Runs.get),
    _control("pause", "Pause a run: conversations under way wait at their next turn, and no others start.", Runs.pause),
    _control("resume", "Resume a paused run.", Runs.resume),
    _control("cancel", "Cancel a run for good: conversations under way are dropped, accepted ones stay.", Runs.cancel),
    _control("delete", "Delete a run that is over, with its dataset and its dead letters, for good.", Runs.delete),
):
    runs.add_command(command)


@runs.command()
@_run
@click.argument("conversation", required=False)
def conversations(
    *,
    limit: int = setting("The largest number to list.", "--limit", default=100, type=COUNT),
    follow: bool = setting("Conversations as they finish, until Ctrl-C."),
    as_json: bool = AS_JSON,
    runs: Runs = RUNS,
    run: str,
    conversation: str | None,
) -> None:
    """List a run's finished conversations, latest first, or show one with the tutor's hidden soliloquies."""
    if follow and conversation:
        raise click.UsageError("--follow shows every conversation as it finishes: remove the id")
    with runs:
        run = _of_run(runs, run, Runs.get).id
        if conversation:
            print_conversation(runs.conversation(run, conversation), as_json=as_json)
            return
        for finished in runs.tail(run) if follow else islice(runs.conversations(run), limit):
            echo(to_json(finished) if as_json else finished_line(finished))


@runs.command()
def templates(*, as_json: bool = AS_JSON, runs: Runs = RUNS) -> None:
    """List the templates of the gateway: runs to start by name, and those that start at set times."""
    with runs:
        for template in runs.templates():
            echo(to_json(template) if as_json else template_line(template))


@runs.command()
def audit(
    *,
    limit: int = setting("The largest number to list.", "--limit", default=100, type=COUNT),
    as_json: bool = AS_JSON,
    runs: Runs = RUNS,
) -> None:
    """List who changed what, and who was refused, latest first."""
    with runs:
        for call in islice(runs.audit(), limit):
            echo(to_json(call) if as_json else audit_line(call))


def _of_run(runs: Runs, beginning: str, call: Callable[[Runs, str], RunStatus]) -> RunStatus:
    """Calls with this id or else with the only id that begins so; raises NotFound and Failure."""
    try:
        return call(runs, beginning)
    except NotFound:
        found = [status.id for status in runs.list() if status.id.startswith(beginning)]
        if not found or beginning in found:
            raise
    if len(found) > 1:
        shown = ", ".join(found[:_SHOWN_IDS]) + (", .." if len(found) > _SHOWN_IDS else "")
        raise Failure(f"the ids of {len(found)} runs begin with {beginning!r}: write more of the id ({shown})")
    return call(runs, found[0])


def _watch(runs: Runs, first: RunStatus, *, as_json: bool) -> int:
    """Returns the exit status for how the run ended."""
    last = first
    if as_json:
        for last in runs.watch(first.id):
            echo(to_json(last))
        return _EXIT[last.state]
    try:
        there = first.progress.accepted
        with progress_bar(wanted=first.request.conversations, resumed_from=there) as show_progress:
            for last in runs.watch(first.id):
                progress = last.progress
                counts = RunCounts(accepted=progress.accepted, rejected=progress.rejected, cost=last.cost)
                show_progress(counts, _pause_reason(last))
    finally:
        if not is_over(last):
            echo(f"run {first.id} continues: soliloquy runs watch {first.id}", err=True)
    tell_status(last)
    return _EXIT[last.state]


def _pause_reason(status: RunStatus) -> str:
    if status.state == RunState.RUN_STATE_PAUSED:
        return f"paused  {under_way(status.progress)} under way"
    if is_over(status):
        return "its dataset is being written"
    return status.because
