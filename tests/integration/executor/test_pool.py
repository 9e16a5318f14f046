"""Sandboxes die, owners die, runsc is missing: no job runs outside gVisor, and nothing is left behind."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from soliloquy.v1.sandbox_pb2 import STATUS_OK, STATUS_SANDBOX_DIED

from services.executor.pool import SandboxPool
from services.executor.runsc import SandboxUnavailable
from services.executor.selftest import selftest
from services.executor.settings import SandboxSettings
from services.executor.site import open_site
from tests.integration.executor.support import (
    assert_ordinary_job_is_right,
    job,
    needs_runsc,
    runsc_pids,
    until,
)

_SLOW = "import time; time.sleep(0.8); x = 1"

_OWNER = """
import asyncio, sys
from pathlib import Path
from soliloquy.v1.sandbox_pb2 import Job
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings

async def main():
    pool = SandboxPool(SandboxSettings(sandboxes=1, wall_seconds=60, runtime_dir=Path(sys.argv[1])))
    await pool.start()
    done = await pool.execute(Job(code="x = 6 * 7", result_variables=["x"]))
    print(done.values[0].value.integer, flush=True)
    if sys.argv[2] == "hang":
        await pool.execute(Job(code="while True: pass"))
    await pool.stop()

asyncio.run(main())
"""


class Runsc:
    """The real runsc on a PATH of its own, that breaks on demand."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real = shutil.which("runsc")
        self._broken = folder / "broken"
        script = folder / "bin" / "runsc"
        script.parent.mkdir()
        script.write_text(
            f'#!/bin/sh\n[ -e {self._broken} ] && {{ echo out of order >&2; exit 1; }}\nexec {real} "$@"\n'
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)

    def break_down(self) -> None:
        self._broken.touch()

    def repair(self) -> None:
        self._broken.unlink()


@pytest.fixture
def runsc(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Runsc:
    return Runsc(tmp_path_factory.mktemp("runsc"), monkeypatch)


@asynccontextmanager
async def started(settings: SandboxSettings) -> AsyncIterator[SandboxPool]:
    pool = SandboxPool(settings)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.stop()


def kill_all(runtime_dir: Path) -> None:
    for pid in runsc_pids(runtime_dir):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def test_without_runsc_the_pool_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    pool = SandboxPool(SandboxSettings(runtime_dir=tmp_path))
    with pytest.raises(SandboxUnavailable, match="apt-get install runsc"):
        await pool.start()
    with pytest.raises(SandboxUnavailable):
        await pool.execute(job("x = 1"))


@needs_runsc
async def test_a_runsc_that_fails_means_not_ready_and_leaves_nothing(tmp_path: Path, runsc: Runsc) -> None:
    runsc.break_down()
    with pytest.raises(SandboxUnavailable, match=r"out of order.*apt-get install runsc"):
        await SandboxPool(SandboxSettings(runtime_dir=tmp_path)).start()
    assert list(tmp_path.iterdir()) == []


@needs_runsc
async def test_a_platform_that_does_not_exist_means_not_ready(tmp_path: Path) -> None:
    pool = SandboxPool(SandboxSettings(runtime_dir=tmp_path, platform="abacus"))
    with pytest.raises(SandboxUnavailable, match="abacus"):
        await pool.start()
    assert runsc_pids(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@needs_runsc
async def test_a_sandbox_that_sees_the_canary_gets_no_job(tmp_path: Path) -> None:
    site, sandbox = await open_site(SandboxSettings(runtime_dir=tmp_path))
    try:
        with pytest.raises(SandboxUnavailable, match=r"unproven: it sees no file of the host$"):
            await selftest(sandbox, canary=Path("/tmp"))
    finally:
        await sandbox.close()
        site.folder.remove()


@needs_runsc
async def test_many_callers_share_two_sandboxes(tmp_path: Path) -> None:
    async with started(SandboxSettings(sandboxes=2, runtime_dir=tmp_path)) as pool:
        answers = await asyncio.gather(*[pool.execute(job(f"x = {n} ** 2", "x")) for n in range(30)])
    assert [int(done.values[0].value.integer) for done in answers] == [n**2 for n in range(30)]


@needs_runsc
async def test_stop_is_quick_and_leaves_nothing_even_mid_job(tmp_path: Path) -> None:
    pool = SandboxPool(SandboxSettings(runtime_dir=tmp_path))
    await pool.start()
    running = asyncio.create_task(pool.execute(job("while True: pass")))
    await asyncio.sleep(0)
    before = time.monotonic()
    await pool.stop()
    assert time.monotonic() - before < 1
    assert runsc_pids(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SandboxUnavailable, match="stopped"):
        await running


@needs_runsc
async def test_a_job_whose_sandbox_is_killed_is_answered_by_another(tmp_path: Path) -> None:
    async with started(SandboxSettings(sandboxes=1, runtime_dir=tmp_path)) as pool:
        running = asyncio.create_task(pool.execute(job(_SLOW, "x")))
        await _handed_over()
        kill_all(tmp_path)
        done = await running
        assert done.status == STATUS_OK
        assert done.values[0].value.integer == "1"


@needs_runsc
async def test_a_job_that_outlives_two_sandboxes_is_told_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with started(SandboxSettings(sandboxes=1, runtime_dir=tmp_path)) as pool:
        running = asyncio.create_task(pool.execute(job(_SLOW, "x")))
        for booted in (1, 2):
            await until(partial(_has_booted, caplog, booted))
            await _handed_over()
            kill_all(tmp_path)
        assert (await running).status == STATUS_SANDBOX_DIED
        await assert_ordinary_job_is_right(pool)


@needs_runsc
async def test_a_sandbox_that_stops_answering_is_replaced(tmp_path: Path) -> None:
    async with started(SandboxSettings(sandboxes=1, wall_seconds=0.5, runtime_dir=tmp_path)) as pool:
        for pid in runsc_pids(tmp_path):
            os.kill(pid, signal.SIGSTOP)
        await assert_ordinary_job_is_right(pool)


@needs_runsc
async def test_while_no_sandbox_boots_jobs_are_refused_and_afterwards_served(tmp_path: Path, runsc: Runsc) -> None:
    async with started(SandboxSettings(sandboxes=2, runtime_dir=tmp_path)) as pool:
        runsc.break_down()
        kill_all(tmp_path)
        for _ in range(3):
            with pytest.raises(SandboxUnavailable, match="out of order"):
                await pool.execute(job("x = 1", "x"))
        runsc.repair()
        served = False
        async with asyncio.timeout(20):
            while not served:
                with contextlib.suppress(SandboxUnavailable):
                    await assert_ordinary_job_is_right(pool)
                    served = True
                await asyncio.sleep(0.05)


@needs_runsc
async def test_a_sandbox_is_recycled_without_a_job_waiting_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with started(SandboxSettings(sandboxes=1, recycle_after=3, runtime_dir=tmp_path)) as pool:
        first = runsc_pids(tmp_path)
        for _ in range(4):
            await assert_ordinary_job_is_right(pool)
        await until(partial(_has_booted, caplog, 2))
        await assert_ordinary_job_is_right(pool)
        await until(lambda: not set(first) & set(runsc_pids(tmp_path)))
        await assert_ordinary_job_is_right(pool)


@needs_runsc
async def test_the_sandboxes_of_a_killed_owner_end_and_the_next_start_sweeps_its_folder(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, tmp_path, "hang"], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert await asyncio.to_thread(owner.stdout.readline) == b"42\n"
    assert runsc_pids(tmp_path)
    left = list(tmp_path.iterdir())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    await until(lambda: not runsc_pids(tmp_path), seconds=3)
    async with started(SandboxSettings(sandboxes=1, runtime_dir=tmp_path)):
        assert not any(folder.exists() for folder in left)
    assert list(tmp_path.iterdir()) == []


@needs_runsc
async def test_the_folder_of_a_living_owner_is_left_alone(tmp_path: Path) -> None:
    async with started(SandboxSettings(sandboxes=1, runtime_dir=tmp_path)) as pool:
        async with started(SandboxSettings(sandboxes=1, runtime_dir=tmp_path)) as other:
            await assert_ordinary_job_is_right(other)
        await assert_ordinary_job_is_right(pool)


@needs_runsc
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; as one, every test here is rootless")
def test_an_ordinary_user_can_run_sandboxes_too() -> None:
    python = next(filter(_runs_as_nobody, _PYTHONS), None)
    if python is None and "CI" not in os.environ:
        pytest.skip("no Python with this environment's packages that nobody may read")
    assert python is not None, f"an ordinary user can run none of {', '.join(_PYTHONS)}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        ran = _as_nobody(python, "-c", _OWNER, folder, "end")
        assert (ran.stdout, ran.stderr) == ("42\n", "")
        assert list(Path(folder).iterdir()) == []


# This Python, and the distribution's of the same version, which can use the same packages.
_PYTHONS = (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")


def _runs_as_nobody(python: str) -> bool:
    return _as_nobody(python, "-c", "import services.executor.pool").returncode == 0


def _as_nobody(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # The shell between: what setpriv starts itself is still found with root's rights.
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", 'exec "$0" "$@"', *command],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _has_booted(caplog: pytest.LogCaptureFixture, sandboxes: int) -> bool:
    return caplog.text.count(" is up ") == sandboxes


async def _handed_over() -> None:
    """Lets the keeper take the job from the queue and write it to the sandbox."""
    for _ in range(20):
        await asyncio.sleep(0)
