"""`soliloquy runs`: starts, watches, shows and steers the runs of a gateway."""

import asyncio
import json
import signal
import subprocess
import sys

from click.testing import Result

from soliloquy.client import AsyncRuns, state_of
from tests.cases import each_case
from tests.integration.gateway.served import ARITHMETIC, command, served
from tests.integration.gateway.support import Collecting, growing
from tests.integration.transport.support import Connect


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
            command("delete", *at, run),
            command("cancel", *at, run),
            command("delete", *at, run[:6]),
            command("delete", *at, run),
            command("list", *at),
        ]

    collecting.open.clear()
    told = await asyncio.to_thread(use)
    started, paused, resumed, shown, listed, none, too_early, cancelled, deleted, again, left = told
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
    assert "cannot be deleted: only one that is over can" in too_early.stderr
    assert "deleted" in deleted.stdout
    assert (again.stdout, left.stdout) == (deleted.stdout, "no runs\n")
    assert {each.exit_code for each in (started, paused, listed, none, cancelled, deleted, again)} == {0}


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
    assert "written, in " in told
    assert (ambiguous.exit_code, unknown.exit_code, listed.exit_code) == (2, 2, 0)
    assert ambiguous.stderr.startswith("soliloquy: the ids of 2 runs begin with ")
    assert unknown.stderr == "soliloquy: there is no run 'x': list the runs\n"


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


@each_case
async def test_what_a_gateway_refuses_is_one_line(address: str, words: list[str], told: str) -> None:
    ended = await asyncio.to_thread(command, *words, "--gateway", address)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith(told)
    assert len(ended.stderr.splitlines()) == 1
