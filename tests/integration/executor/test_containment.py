"""A sandbox is also bounded from outside, and leaves nothing behind when it ends."""

import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.launcher import SandboxLauncher, open_launcher
from soliloquy_services.executor.policy import CGROUP, KINDS, SandboxSettings
from soliloquy_services.executor.sandbox import SandboxDied
from tests.cases import each_case
from tests.integration.executor import nobody
from tests.integration.executor.leftovers import leftovers
from tests.integration.executor.sites import assert_sound, booted, opened, run
from tests.integration.executor.support import Runsc, needs_runsc
from tests.waiting import until

pytestmark = needs_runsc

_OWNER = """
import asyncio, os, sys
from pathlib import Path
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.launcher import open_launcher

async def main():
    site = await open_launcher(SandboxSettings(runtime_dir=Path(sys.argv[1])))
    sandboxes = [await site.boot(kind) for kind in ("math", "numpy")]
    print(len(sandboxes), site.unbounded, flush=True)
    for sandbox in sandboxes:
        await sandbox.close()
    site.folder.remove()

asyncio.run(main())
"""


def killed(site: SandboxLauncher, title: str) -> bool:
    """Kills the process with this title among those of a launcher's sandboxes."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # Others on the machine come and go.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            command = (process / "cmdline").read_bytes().split(b"\0")
            if command[0].endswith(title.encode()) and str(site.folder.path).encode() in b" ".join(command):
                found.append(int(process.name))
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return bool(found)


def of_sandboxes(site: SandboxLauncher) -> list[str]:
    """Lists the leftovers of a launcher's sandboxes while the launcher is open."""
    own = [site.folder.path, *(site.cgroup.folders if site.cgroup else ())]
    nested = [entry for folder in own if folder.exists() for entry in folder.iterdir() if entry.name.isdigit()]
    others = [told for told in leftovers(site.folder.path) if not told.startswith("folder ")]
    return [*map(str, nested), *(told for told in others if not told.endswith(site.folder.path.name))]


async def assert_nothing_left(folder: Path) -> None:
    """Ignores earlier leftovers at once; pools of other tests may be starting or ending."""
    assert [told for told in leftovers(folder) if str(folder) in told] == []
    await until(lambda: leftovers(folder) == [])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_sandbox_has_its_packages_and_leaves_nothing(tmp_path: Path, kind: str) -> None:
    async with opened(tmp_path) as site:
        # The first is the one that showed that the site works.
        async with booted(site), booted(site, kind) as sandbox:
            await assert_sound(sandbox, kind)
            assert of_sandboxes(site)
        await until(lambda: of_sandboxes(site) == [])
    await assert_nothing_left(tmp_path)


@pytest.mark.parametrize(
    "victim", ["runsc", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("runsc-gofer", "runsc-sandbox"))]
)
async def test_whatever_of_a_sandbox_is_killed_nothing_of_it_is_left(tmp_path: Path, victim: str) -> None:
    async with opened(tmp_path) as site:
        sandbox = await site.boot()
        assert killed(site, victim)
        await sandbox.ended()
        await sandbox.close()
        await until(lambda: of_sandboxes(site) == [])
        async with booted(site) as sandbox:
            await assert_sound(sandbox)
    await until(lambda: leftovers(tmp_path) == [])


@nobody.only_root_can
async def test_an_ordinary_users_sandboxes_leave_nothing_either() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        ran = nobody.run(nobody.python(), "-c", _OWNER, folder)
        assert (ran.stdout, ran.stderr) == ("2 runsc creates control groups only as root\n", "")
        await assert_nothing_left(Path(folder))


async def test_a_sandbox_that_outgrows_its_control_group_dies_alone_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CGROUP, "overhead_bytes", -(256 << 20))
    async with opened(tmp_path) as site:
        if site.cgroup is None:
            pytest.skip(site.unbounded)
        async with booted(site) as sandbox, booted(site) as other:
            with pytest.raises(SandboxDied):
                await run(sandbox, "x = []\nwhile True: x.append(b'x' * 10**6)")
            await assert_sound(other)
        await until(lambda: of_sandboxes(site) == [])


@pytest.mark.thorough
async def test_a_platform_that_hangs_is_given_up_after_its_time_for_one_that_boots(
    tmp_path: Path, runsc: Runsc
) -> None:
    hanging = 'case "$*" in *--platform=systrap*) exec sleep 600;; esac'
    runsc.does_first(hanging)
    async with opened(tmp_path, boot_seconds=4.0) as site:
        assert site.platform == "ptrace"
    await until(lambda: leftovers(tmp_path) == [])


@each_case
async def test_without_the_control_group_that_the_machine_can_make_no_sandbox_is_used(
    tmp_path: Path, runsc: Runsc, lines: str, why: str
) -> None:
    async with opened(tmp_path) as site:
        if site.cgroup is None:
            pytest.skip(site.unbounded)
    runsc.does_first(lines)
    with pytest.raises(SandboxUnavailable, match=why):
        await open_launcher(SandboxSettings(runtime_dir=tmp_path))
    await until(lambda: leftovers(tmp_path) == [])


@pytest.mark.thorough
async def test_a_boot_that_fails_once_costs_neither_control_group_nor_platform(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, runsc: Runsc
) -> None:
    async with opened(tmp_path) as site:
        usual = (site.platform, site.cgroup is None)
    failed = tmp_path_factory.mktemp("once") / "failed"
    runsc.does_first(f'case "$*" in *{usual[0]}*) [ -e {failed} ] || {{ touch {failed}; kill -9 $$; }};; esac')
    async with opened(tmp_path) as site:
        assert failed.exists()
        assert (site.platform, site.cgroup is None) == usual
    await until(lambda: leftovers(tmp_path) == [])


async def test_a_kind_whose_packages_are_missing_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as site:
        monkeypatch.setattr(sys, "path", [])
        for name in [name for name in sys.modules if name.partition(".")[0] == "mpmath"]:
            monkeypatch.delitem(sys.modules, name)
        with pytest.raises(SandboxUnavailable, match=r"a sympy sandbox requires .*mpmath.*: pip install .*mpmath"):
            await site.boot("sympy")
        async with booted(site) as sandbox:
            await assert_sound(sandbox)
