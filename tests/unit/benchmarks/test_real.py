"""`python -m benchmarks real` counts what a real model was asked, and nothing of the scripted one beside it."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.real import SendingBack, real
from benchmarks.real_grid import Cell, cells
from benchmarks.real_servers import Served, free_port, served
from tests.e2e.hosted import fake
from tests.e2e.runs import grown


def test_a_mixture_counts_the_calls_of_its_real_role_alone_and_each_of_them_once(tmp_path: Path) -> None:
    cell = Cell(recipe="soliloquy", role="student", grammar=True)
    with fake("--noise", "real") as url:
        settings = tmp_path / "cell.toml"
        settings.write_text(cell.settings(Served(model="scripted", url=url)))
        report = grown(tmp_path / "llama-cpp" / cell.name, conversations=3, model_settings=settings)
    printed = CliRunner().invoke(real, [str(tmp_path), "--json"], catch_exceptions=False)
    figures = json.loads(printed.stdout)
    [ended] = figures["conversations"]
    assert (ended["recipe"], ended["grammar"], ended["accepted"]) == ("soliloquy", "grammar", report["accepted"])
    students = [row for row in figures["answers"] if row["role"] == "student"]
    assert {row["role"] for row in figures["answers"]} == {"student", "all"}
    assert sum(row["asked"] for row in students) == ended["calls"] >= report["turns"]
    for row in figures["answers"]:
        assert row["asked"] == row["strict"] + row["repaired"] + row["asked again"] + row["unusable"]


def test_a_label_is_found_by_what_was_sent_back_and_why() -> None:
    one = SendingBack("drawn", "student", "It's 4.", "it is right", ("What is 2 + 2?",))
    assert one.digest != one._replace(because="it is wrong").digest
    assert len(one.digest) == 16


def test_the_grid_has_each_role_of_each_recipe_with_and_without_a_grammar() -> None:
    names = [cell.name for cell in cells(["soliloquy", "mathwell"], mixtures=True)]
    assert len(names) == len({*names}) == 2 * (6 + 3)
    assert names[:2] == ["soliloquy-all-grammar", "mathwell-all-grammar"]


_GRID = """
import sys
import time
from benchmarks import real_grid, real_servers

def web(folder):
    (folder / "v1" / "models").mkdir(parents=True)
    command = [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", folder]
    return real_servers.served(command, "web", port, folder / "log")

def generate(*_):
    print("serving", flush=True)
    time.sleep(600)

port = int(sys.argv.pop())
real_grid.SERVERS, real_grid._generate = {"web": web}, generate
real_grid.grid()
"""


def test_a_grid_that_is_told_to_end_ends_its_server(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-c", _GRID, str(tmp_path / "grid"), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as grid:
        assert grid.stdout
        assert grid.stdout.readline() == b"serving\n"
        grid.terminate()
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass


def test_a_server_that_does_not_start_is_quoted(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such weights'); raise SystemExit(3)"]
    with (
        pytest.raises(SystemExit, match=r"does not start \(status 3\), says .*: no such weights"),
        served(command, "none", free_port(), tmp_path / "log"),
    ):
        pass
