"""The client that users import: what it gives back, what it outlasts, and what it says of what is refused."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner, Result

from services.gateway.access import certificates
from services.gateway.access.access import Access
from services.gateway.access.tokens import TokenFile
from soliloquy.cli.main import commands
from soliloquy.client import (
    AsyncRuns,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    Runs,
    ServiceUnavailable,
    Tls,
    state_of,
)
from soliloquy.v1.gateway_pb2 import FinishedConversation, RunStatus
from tests.integration.gateway.served import served
from tests.integration.gateway.support import Collecting, growing
from tests.integration.transport.embedded import connect as open_log
from tests.integration.transport.support import Connect, until
from tests.kafka.certificates import Authority
from tests.unit.gateway.tokens import OPERATOR, READER, entry, written

T = TypeVar("T")

NOBODY = "127.0.0.1:1"
ARITHMETIC: dict[str, Any] = {"problems": "arithmetic", "conversations": 6, "in_flight": 4}


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    return partial(open_log, str(tmp_path / "events.db"))


@pytest.fixture
def collecting() -> Collecting:
    return Collecting()


@pytest.fixture
async def address(connect: Connect, collecting: Collecting) -> AsyncIterator[str]:
    async with connect() as transport, growing(transport, collecting), served(transport) as address:
        yield address


def command(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(commands, ["runs", *words], env=environment)


async def test_a_run_is_followed_to_its_end_and_its_conversations_read(address: str) -> None:
    async with AsyncRuns(address) as runs:
        run = await runs.start(**ARITHMETIC)
        told = [status async for status in runs.watch(run.id)]
        found = [finished async for finished in runs.conversations(run.id, verdict="accepted")]
        assert (await runs.get(run.id)).progress == told[-1].progress
    assert state_of(told[-1]) == "finished"
    assert [status.progress.accepted for status in told] == sorted(status.progress.accepted for status in told)
    assert all(one != other for one, other in pairwise(told))
    assert len({finished.id for finished in found}) == told[-1].progress.accepted == 6


async def test_without_asyncio_it_is_the_same(address: str) -> None:
    def use() -> tuple[list[RunStatus], list[FinishedConversation], list[RunStatus]]:
        with Runs(address) as runs:
            run = runs.start(**ARITHMETIC)
            told = list(runs.watch(run.id))
            return told, list(runs.conversations(run.id)), list(runs.list("finished"))

    told, found, listed = await asyncio.to_thread(use)
    assert (state_of(told[-1]), len(found)) == ("finished", 6)
    assert [status.id for status in listed] == [told[-1].id]


async def test_a_request_id_is_made_for_each_call_and_one_that_is_given_is_kept(address: str) -> None:
    async with AsyncRuns(address) as runs:
        made = [await runs.start(**ARITHMETIC) for _ in range(2)]
        given = [await runs.start(**ARITHMETIC, request_id="mine") for _ in range(2)]
        listed = [status.id async for status in runs.list()]
    assert len({run.id for run in made}) == 2
    assert len({run.id for run in given}) == 1
    assert set(listed) == {run.id for run in (*made, *given)}
    assert len(listed) == 3


async def test_lists_of_any_length_are_read_page_by_page(address: str) -> None:
    async with AsyncRuns(address) as runs:
        run = await runs.start(problems="arithmetic", conversations=230)
        assert [state_of(status) async for status in runs.watch(run.id)][-1] == "finished"
        found = [finished async for finished in runs.conversations(run.id)]
    assert len({finished.id for finished in found}) == len(found) == 230


async def test_a_run_is_paused_resumed_and_cancelled(address: str, collecting: Collecting) -> None:
    collecting.open.clear()
    async with AsyncRuns(address) as runs:
        run = (await runs.start(**ARITHMETIC)).id
        assert state_of(await runs.pause(run)) == "paused"
        assert [status.id async for status in runs.list("paused")] == [run]
        assert state_of(await runs.resume(run)) == "running"
        assert state_of(await runs.cancel(run)) == "cancelled"
        with pytest.raises(InvalidRequest, match="is cancelled and cannot be resumed"):
            await runs.resume(run)


async def test_watchers_outlast_a_gateway_that_comes_back(connect: Connect) -> None:
    """Nothing is told twice, nothing of a tail is left out, and a run that is started meanwhile is one run."""
    collecting = Collecting()
    told: list[RunStatus] = []
    tailed: list[FinishedConversation] = []

    async def keep(items: AsyncGenerator[T, None], kept: list[T]) -> None:
        async with aclosing(items):
            async for item in items:
                kept.append(item)  # noqa: PERF401 - it is looked at while it grows

    async with connect() as transport, growing(transport, collecting), AsyncExitStack() as clients:
        async with served(transport) as address:
            runs = await clients.enter_async_context(AsyncRuns(address))
            run = (await runs.start(problems="arithmetic", conversations=400, in_flight=4)).id
            watching = asyncio.create_task(keep(runs.watch(run), told))
            tailing = asyncio.create_task(keep(runs.tail(run), tailed))
            await until(lambda: len(tailed) > 20)
            collecting.open.clear()
        other = asyncio.create_task(runs.start(**ARITHMETIC))
        before = len(collecting.seen)
        collecting.open.set()
        await until(lambda: len(collecting.seen) > before)
        async with served(transport, address=address):
            assert {(await other).id, run} == {status.id async for status in runs.list()}
            await watching
            every = [each async for each in runs.conversations(run)]
            since = [each for each in every if each.finished_at > tailed[0].finished_at]
            await until(lambda: {each.id for each in since} <= {each.id for each in tailed})
            tailing.cancel()
    assert (state_of(told[-1]), told[-1].progress.accepted) == ("finished", 400)
    assert all(one != other for one, other in pairwise(told))
    assert len({each.id for each in tailed}) == len(tailed)
    assert len(since) > 300


async def test_what_is_unknown_refused_or_away_is_said_in_a_sentence(address: str) -> None:
    async with AsyncRuns(address) as runs:
        with pytest.raises(NotFound, match=r"^there is no run 'no-such': list the runs"):
            await runs.get("no-such")
        with pytest.raises(NotFound, match="there is no run"):
            await anext(runs.watch("no-such"))
        with pytest.raises(NotFound, match="no dead letter has the id 'no-such'"):
            await runs.replay("no-such")
        with pytest.raises(InvalidRequest, match="invalid recipe 'latin': use one of"):
            await runs.start(**ARITHMETIC, recipe="latin")
        await runs.start(**ARITHMETIC, request_id="taken")
        with pytest.raises(InvalidRequest, match="with other settings"):
            await runs.start(**ARITHMETIC, seed=2, request_id="taken")
    async with AsyncRuns(NOBODY, deadline_seconds=0.1) as runs:
        with pytest.raises(
            ServiceUnavailable,
            match=f"^no answer from the gateway at {NOBODY}: .*: start it, or name the address where it runs$",
        ):
            await runs.get("any")
        with pytest.raises(ServiceUnavailable):
            await anext(runs.watch("any"))


async def test_a_token_opens_what_its_role_may_do(connect: Connect, tmp_path: Path) -> None:
    access = Access(TokenFile(written(tmp_path)))
    async with connect() as transport, served(transport, access=access) as address:
        async with AsyncRuns(address) as stranger, AsyncRuns(address, token=READER) as reader:
            with pytest.raises(PermissionDenied, match="a token is required"):
                await anext(stranger.list())
            assert [status async for status in reader.list()] == []
            with pytest.raises(PermissionDenied, match="StartRun requires the role operator"):
                await reader.start(**ARITHMETIC)
        async with AsyncRuns(address, token=OPERATOR) as operator:
            assert (await operator.start(**ARITHMETIC)).requested_by == "olga"


async def test_a_certificate_does_for_a_token(connect: Connect, tmp_path: Path) -> None:
    authority = Authority.founded(tmp_path / "certificates")
    own = authority.sign("broker", ["IP:127.0.0.1"])
    caller = authority.sign("client")
    shown = certificates.ServerTls(certificate=own.certificate, key=own.key, client_ca=authority.own.certificate)
    access = Access(TokenFile(written(tmp_path, entry("soliloquy-test-client", "operator"))))
    tls = Tls(ca=authority.own.certificate, certificate=caller.certificate, key=caller.key)
    async with connect() as transport, served(transport, access=access, credentials=shown.for_grpc()) as address:
        async with AsyncRuns(address, tls=tls) as runs:
            assert (await runs.start(**ARITHMETIC)).requested_by == "soliloquy-test-client"
        files = {"CA_FILE": tls.ca, "CERTIFICATE_FILE": tls.certificate, "KEY_FILE": tls.key}
        environment = {f"SOLILOQUY_{name}": str(file) for name, file in files.items()}
        listed = await asyncio.to_thread(command, "list", "--gateway", address, **environment)
        assert "by soliloquy" in listed.stdout
        async with AsyncRuns(address, tls=Tls(ca=tls.ca), deadline_seconds=0.5) as stranger:
            with pytest.raises(ServiceUnavailable, match="no answer from the gateway"):
                await anext(stranger.list())


async def test_a_token_file_is_read_and_an_empty_one_refused(connect: Connect, tmp_path: Path) -> None:
    access = Access(TokenFile(written(tmp_path)))
    token, empty = tmp_path / "token", tmp_path / "empty"
    token.write_text(f"{READER}\n", "utf-8")
    empty.write_text("\n", "utf-8")
    async with connect() as transport, served(transport, access=access) as address:
        opened, refused, denied = [
            await asyncio.to_thread(command, *words, "--gateway", address)
            for words in (
                ("list", "--token-file", str(token)),
                ("list", "--token-file", str(empty)),
                ("pause", "no-such", "--token-file", str(token)),
            )
        ]
    assert (opened.exit_code, opened.stdout) == (0, "no runs\n")
    assert refused.stderr == f"soliloquy: {empty} holds no token: put it on a line of its own\n"
    assert (denied.exit_code, denied.stderr) == (
        2,
        "soliloquy: PauseRun requires the role operator; rita has the role reader\n",
    )


async def test_the_commands_start_steer_and_list(address: str, collecting: Collecting) -> None:
    def use() -> list[Result]:
        at = ("--gateway", address)
        started = command("start", *at, "--problems", "arithmetic", "--conversations", "6")
        run = started.stdout.strip()
        steered = [command(word, *at, run, "--json") for word in ("pause", "resume", "show")]
        return [
            started,
            *steered,
            command("list", *at),
            command("list", *at, "--state", "paused"),
            command("cancel", *at, run),
        ]

    collecting.open.clear()
    started, paused, resumed, shown, listed, none, cancelled = await asyncio.to_thread(use)
    run = started.stdout.strip()
    assert [json.loads(each.stdout)["state"] for each in (paused, resumed, shown)] == [
        "RUN_STATE_PAUSED",
        "RUN_STATE_RUNNING",
        "RUN_STATE_RUNNING",
    ]
    [line] = listed.stdout.splitlines()
    assert line.split()[:3] == [run, "running", "0/6"]
    assert none.stdout == "no runs\n"
    assert "cancelled" in cancelled.stdout
    assert {each.exit_code for each in (started, paused, listed, none, cancelled)} == {0}


async def test_the_first_characters_of_an_id_are_enough_where_no_other_run_begins_so(address: str) -> None:
    def use() -> tuple[str, list[Result]]:
        at = ("--gateway", address)
        words = ("start", *at, "--problems", "arithmetic", "--conversations", "1")
        first = command(*words, "--name", "Sums").stdout.strip()
        second = command(*words).stdout.strip()
        # Runs of the same settings differ behind the dash.
        common = first.partition("-")[0]
        shown = [command("show", *at, first[:-1], "--json"), command("show", *at, second)]
        refused = [command("pause", *at, common), command("show", *at, "x")]
        return first, [*shown, *refused, command("conversations", *at, first[:-1])]

    first, (by_prefix, whole, ambiguous, unknown, listed) = await asyncio.to_thread(use)
    assert (json.loads(by_prefix.stdout)["id"], json.loads(by_prefix.stdout)["name"]) == (first, "Sums")
    told = " ".join(whole.stdout.split())
    assert "name arithmetic, 1 conversation" in told
    assert "model scripted" in told
    assert "dataset not seen by this gateway" in told
    assert (ambiguous.exit_code, unknown.exit_code, listed.exit_code) == (2, 2, 0)
    assert ambiguous.stderr.startswith("soliloquy: the ids of 2 runs begin with ")
    assert unknown.stderr == "soliloquy: there is no run 'x': list the runs\n"


async def test_dead_letters_are_replayed_by_their_cause(connect: Connect) -> None:
    collecting = Collecting()
    collecting.broken = {0, 1, 2, 3, 4, 5}
    async with (
        connect() as transport,
        growing(transport, collecting),
        served(transport) as address,
        AsyncRuns(address) as runs,
    ):
        run = await runs.start(**ARITHMETIC)
        [*_] = [status async for status in runs.watch(run.id)]
        causes = {letter.cause async for letter in runs.dead_letters()}
        collecting.broken.clear()
        assert await runs.replay_all(cause="another") == 0
        replayed = [await runs.replay_all(cause=cause) for cause in causes]
        [*_, last] = [status async for status in runs.watch(run.id)]
    assert len(causes) == 1
    assert (replayed[0] > 0, state_of(last), last.progress.accepted) == (True, "finished", 6)


async def test_watching_ends_with_the_run_and_says_how_it_ended(address: str, collecting: Collecting) -> None:
    def use() -> tuple[Result, ...]:
        at = ("--gateway", address)
        whole = command("start", *at, "--problems", "arithmetic", "--conversations", "6", "--watch", "--json")
        run = json.loads(whole.stdout.splitlines()[-1])["id"]
        listed = command("conversations", *at, run, "--limit", "4")
        return (
            whole,
            command("watch", *at, run),
            listed,
        )

    whole, again, listed = await asyncio.to_thread(use)
    assert json.loads(whole.stdout.splitlines()[-1])["progress"]["accepted"] == "6"
    assert (whole.exit_code, again.exit_code) == (0, 0)
    assert "finished" in again.stdout
    assert len(listed.stdout.splitlines()) == 4
    assert "accepted  solved" in listed.stdout


async def test_a_run_that_ends_with_less_is_told_by_the_exit_status(connect: Connect) -> None:
    collecting = Collecting(lambda one: ["length: turn 2: long"])
    words = ("--problems", "arithmetic", "--conversations", "2", "--max-attempts", "1", "--watch")
    async with connect() as transport, growing(transport, collecting), served(transport) as address:
        ended = await asyncio.to_thread(command, "start", "--gateway", address, *words)
    assert ended.exit_code == 1
    assert "short: 0 of 2 after" in " ".join(ended.stdout.split())


async def test_who_stops_watching_leaves_the_run_alone(address: str, collecting: Collecting) -> None:
    collecting.open.clear()
    async with AsyncRuns(address) as runs:
        run = (await runs.start(**ARITHMETIC)).id
        program = "from soliloquy.cli.main import main; main()"
        watching = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            "runs",
            "watch",
            run,
            "--gateway",
            address,
            "--json",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert watching.stdout
        assert json.loads(await watching.stdout.readline())["id"] == run
        watching.send_signal(signal.SIGINT)
        _, said = await watching.communicate()
        assert watching.returncode == 130, said.decode()
        assert state_of(await runs.get(run)) == "running"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show", "no-such"), "soliloquy: there is no run 'no-such': list the runs"),
        (("watch", "no-such"), "soliloquy: there is no run 'no-such'"),
        (
            ("start", "--problems", "poetry", "--conversations", "2"),
            "soliloquy: problems cannot be 'poetry': there are arithmetic, physics; a gateway with --problem-files DIR",
        ),
    ],
)
async def test_what_a_gateway_refuses_is_one_line(address: str, words: tuple[str, ...], told: str) -> None:
    ended = await asyncio.to_thread(command, *words, "--gateway", address)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith(told)
    assert len(ended.stderr.splitlines()) == 1
