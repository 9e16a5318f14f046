"""Without a sandbox that boots and passes its self-test, no pool starts and nothing is left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.launcher import open_launcher, selftest
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.pool import SandboxPool
from tests.integration.executor.support import Runsc, needs_runsc, runsc_pids

pytestmark = needs_runsc


async def test_a_runsc_that_fails_means_not_ready_and_leaves_nothing(tmp_path: Path, runsc: Runsc) -> None:
    runsc.break_down()
    with pytest.raises(SandboxUnavailable, match=r"out of order.*apt-get install runsc"):
        await SandboxPool(SandboxSettings(runtime_dir=tmp_path)).start()
    assert list(tmp_path.iterdir()) == []


_LIMITED = """
import asyncio, os, resource, sys
from pathlib import Path
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.pool import SandboxPool
from soliloquy_services.executor.policy import SandboxSettings

limit = len(os.listdir("/proc/self/fd")) + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
pool = SandboxPool(SandboxSettings(sandboxes=1, runtime_dir=Path(sys.argv[1])))
try:
    asyncio.run(pool.start())
except SandboxUnavailable as refusal:
    print(refusal)
"""


@pytest.mark.parametrize(("further", "why"), [(3, "Too many open files"), (40, "may open only")])
def test_too_few_descriptors_are_named_as_the_reason(tmp_path: Path, further: int, why: str) -> None:
    command = [sys.executable, "-c", _LIMITED, str(tmp_path), str(further)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert why in ran.stdout
    assert "install" not in ran.stdout


@pytest.mark.parametrize("step", ["--version", " run "])
async def test_a_killed_runsc_is_named_as_the_reason(tmp_path: Path, runsc: Runsc, step: str) -> None:
    runsc.does_first(f'case " $* " in *"{step}"*) kill -9 $$;; esac')
    with pytest.raises(SandboxUnavailable, match="killed by SIGKILL") as refusal:
        await SandboxPool(SandboxSettings(runtime_dir=tmp_path)).start()
    assert "install" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


async def test_a_platform_that_does_not_exist_means_not_ready(tmp_path: Path) -> None:
    pool = SandboxPool(SandboxSettings(runtime_dir=tmp_path, platform="abacus"))
    with pytest.raises(SandboxUnavailable, match="abacus"):
        await pool.start()
    assert runsc_pids(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


async def test_a_sandbox_that_sees_the_canary_gets_no_job(tmp_path: Path) -> None:
    site = await open_launcher(SandboxSettings(runtime_dir=tmp_path))
    sandbox = await site.boot()
    try:
        with pytest.raises(SandboxUnavailable, match=r"unproven: it sees no file of the host$"):
            await selftest(sandbox, SandboxSettings(), canary=Path("/tmp"))
    finally:
        await sandbox.close()
        site.folder.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk that is full")
async def test_a_full_disk_means_not_ready_and_leaves_nothing(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    try:
        with pytest.raises(SandboxUnavailable, match=r"cannot create sandboxes in .*: No space left on device"):
            await SandboxPool(SandboxSettings(runtime_dir=tmp_path)).start()
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["umount", tmp_path], check=True)


async def test_a_folder_that_is_not_there_means_not_ready(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match=r"cannot create sandboxes in .*: No such file or directory"):
        await SandboxPool(SandboxSettings(runtime_dir=tmp_path / "missing")).start()
