"""`soliloquy sandbox`: one job or a service, and one line with status 2 for what cannot be done."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from soliloquy.client import Job, Sandbox
from tests.e2e.runs import SOLILOQUY, one_line, said, start

SHOT = """import math
reach = 12.5**2 * math.sin(math.radians(60)) / 9.8
is_correct = math.isclose(reach, 13.8, rel_tol=0.01)
"""
ANY_PORT = ("--listen", "127.0.0.1:0")


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    path = tmp_path / "shot.py"
    path.write_text(SHOT, "utf-8")
    return path


def sandbox(*arguments: str | Path) -> list[str]:
    return [SOLILOQUY, "sandbox", *map(str, arguments)]


def refused(arguments: list[str], environment: dict[str, str] | None = None) -> str:
    return one_line(said(arguments, environment=environment))


@contextmanager
def service(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a service that runs as a user would run it."""
    process = start(sandbox("serve", *ANY_PORT, *arguments))
    assert process.stdout is not None
    try:
        yield process.stdout.readline().removeprefix("serving on ").strip(), process
    finally:
        process.terminate()
        _, log = process.communicate()
        assert process.returncode == 0, log


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with service("--wall", "5s") as (address, _):
        yield address


def test_a_job_shows_its_values_and_what_contained_it(shot: Path) -> None:
    result = said(sandbox("run", shot, "--vars", "reach,is_correct"))
    assert (result.returncode, result.stderr) == (0, "")
    status, reach, verdict, where = result.stdout.splitlines()
    assert status == "ok"
    assert reach == "reach = 13.807802994012095"
    assert verdict.startswith("is_correct = True")
    assert where.startswith("fast lane, ")
    assert "gvisor-" in where


def test_a_job_with_less_than_the_limits_is_reported_as_json(shot: Path) -> None:
    options = ("--wall", "900ms", "--memory", "256MiB", "--json")
    result = said(sandbox("run", shot, "--vars", "reach, is_correct", *options))
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert report["values"] == {"reach": pytest.approx(13.8078, abs=1e-4), "is_correct": True}
    assert (report["status"], report["lane"]) == ("ok", "fast")


def test_a_job_that_fails_says_where_with_status_1() -> None:
    code = "print('before')\nx = 1 / 0\n"
    job = sandbox("run", "-", "--vars", "x")
    result = subprocess.run(job, input=code, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert lines[:3] == ["error: ZeroDivisionError: division by zero (line 2)", "stdout:", "    before"]


@pytest.mark.parametrize("code", [b"\xef\xbb\xbfx = 1", b"```python\nx = 1\n```", "µ = 1; x = µ".encode()])
def test_a_byte_order_mark_a_fence_and_greek_letters_do_no_harm(shot: Path, address: str, code: bytes) -> None:
    shot.write_bytes(code)
    result = said(sandbox("run", shot, "--vars", "x", "--address", address))
    assert result.returncode == 0
    assert result.stdout.splitlines()[1] == "x = 1"


def test_what_cannot_be_read_is_named(shot: Path) -> None:
    shot.write_bytes(b"x = '\xff'\n")
    assert "shot.py is not UTF-8 (byte 5)" in refused(sandbox("run", shot))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--address", "nowhere"), "use HOST:PORT"),
        (("--wall", "60s"), "--wall 60s is out of range: use 1ms to 2s"),
        (("--memory", "64GiB"), "--memory 64GiB is out of range: use 128MiB to 512MiB"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_had_is_named(shot: Path, options: tuple[str, ...], complaint: str) -> None:
    assert complaint in refused(sandbox("run", shot, *options))


@pytest.mark.parametrize("arguments", [("run", __file__), ("serve", *ANY_PORT), ("selftest",)], ids=lambda it: it[0])
def test_without_gvisor_nothing_runs(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert "apt-get install runsc" in refused(sandbox(*arguments), {"PATH": str(tmp_path)})


def test_a_runsc_that_fails_is_quoted(tmp_path: Path, shot: Path) -> None:
    runsc = tmp_path / "runsc"
    runsc.write_text("#!/bin/sh\necho out of order >&2\nexit 1\n", "utf-8")
    runsc.chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    assert "out of order" in refused(sandbox("run", shot), environment)


def test_the_selftest_proves_each_kind_of_sandbox() -> None:
    result = said(sandbox("selftest"))
    assert (result.returncode, result.stderr) == (0, "")
    runsc, cgroups, *kinds, proved = result.stdout.splitlines()
    assert runsc.startswith("runsc ")
    assert cgroups.startswith("control groups: ")
    assert [line.split(":")[0] for line in kinds] == ["math", "numpy", "sympy"]
    assert "its kernel is gVisor" in proved


def test_a_service_takes_jobs_from_other_programs(shot: Path, address: str) -> None:
    result = said(sandbox("run", shot, "--vars", "reach", "--wall", "4s", "--address", address))
    assert (result.returncode, result.stderr) == (0, "")
    assert "reach = 13.807802994012095" in result.stdout
    over = refused(sandbox("run", shot, "--wall", "6s", "--address", address))
    assert "--wall 6s is out of range: use 1ms to 5s" in over
    taken = refused(sandbox("serve", "--listen", address))
    assert "Address already in use" in taken


async def test_a_terminated_service_answers_the_job_that_it_runs(tmp_path: Path) -> None:
    jobs = [Job(id="quick", code="x = 1"), Job(id="slow", code="import time; time.sleep(1)")]
    answers = []
    with service() as (address, process):
        async with Sandbox(address) as client:
            async for execution in client.execute_many(jobs):
                answers.append((execution.job_id, execution.status))
                if execution.job_id == "quick":
                    process.terminate()
    assert answers == [("quick", "ok"), ("slow", "ok")]
