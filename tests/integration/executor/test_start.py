"""Without a sandbox that boots and passes its self-test, no pool starts and nothing is left behind."""

import os
import subprocess
from pathlib import Path

import pytest

from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.launcher import open_launcher, selftest
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings
from tests.integration.executor.support import Runsc, job, needs_runsc, runsc_pids


async def test_without_runsc_the_pool_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    pool = SandboxPool(SandboxSettings(runtime_dir=tmp_path))
    with pytest.raises(SandboxUnavailable, match="apt-get install runsc"):
        await pool.start()
    assert pool.fault
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
    site = await open_launcher(SandboxSettings(runtime_dir=tmp_path))
    sandbox = await site.boot()
    try:
        with pytest.raises(SandboxUnavailable, match=r"unproven: it sees no file of the host$"):
            await selftest(sandbox, SandboxSettings(), canary=Path("/tmp"))
    finally:
        await sandbox.close()
        site.folder.remove()


@needs_runsc
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk that is full")
async def test_a_full_disk_means_not_ready_and_leaves_nothing(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    try:
        with pytest.raises(SandboxUnavailable, match=r"cannot create sandboxes in .*: No space left on device"):
            await SandboxPool(SandboxSettings(runtime_dir=tmp_path)).start()
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@needs_runsc
async def test_a_folder_that_is_not_there_means_not_ready(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match=r"cannot create sandboxes in .*: No such file or directory"):
        await SandboxPool(SandboxSettings(runtime_dir=tmp_path / "missing")).start()
