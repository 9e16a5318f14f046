"""A sandbox reaches nothing outside itself, is bounded from outside too, and when it ends nothing of it is left."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from soliloquy.v1.sandbox_pb2 import STATUS_MEMORY, STATUS_OK, Execution, Job

from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.policy import CGROUP, KINDS, MATH, ZYGOTE_UID
from services.executor.reports import Vetting
from services.executor.sandbox import Sandbox, SandboxDied
from services.executor.settings import SandboxSettings
from services.executor.site import Site, open_site
from services.executor.submission import submission
from tests.integration.executor import nobody
from tests.integration.executor.leftovers import leftovers
from tests.integration.executor.support import needs_runsc, until

pytestmark = needs_runsc

# Some jobs here walk whole trees, which takes gVisor on ptrace its time; the CPU limit goes by the wall limit.
_WALL_SECONDS = 30.0

# Another user, files that are another's, kill: CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL, CAP_SETGID, CAP_SETUID.
_OF_A_ZYGOTE = sum(1 << number for number in (1, 3, 5, 6, 7))

_USES = {
    "math": "import math, os\nx = math.hypot(3, 4)",
    "numpy": "import numpy\nx = float(numpy.linalg.solve(numpy.eye(3) / 5, numpy.ones(3))[2])",
    "sympy": "import sympy, mpmath\nt = sympy.symbols('t')\nx = float(sympy.integrate(t, (t, 0, sympy.sqrt(10))))",
}

_WRITES = """
import os, stat

def possible(attempt, *arguments):
    try:
        attempt(*arguments)
    except OSError:
        return False
    return True

def write(path, flags=os.O_NONBLOCK):
    os.close(os.open(path, os.O_WRONLY | flags))

folders, files, others = set(), [], f"/proc/{os.getpid()}/"
for place, _, names in os.walk("/"):
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/", path), lambda path: write(path, os.O_CREAT)):
        if possible(make, f"{place}/new"):
            folders.add(place)
    for path in (f"{place}/{name}" for name in names if not place.startswith(f"/proc/{os.getpid()}")):
        if possible(write, path) and not stat.S_ISCHR(os.stat(path).st_mode):
            files.append(path)
folders = sorted(folders)
"""

_OWNER = """
import asyncio, os, sys
from pathlib import Path
from services.executor.settings import SandboxSettings
from services.executor.site import open_site

async def main():
    site = await open_site(SandboxSettings(runtime_dir=Path(sys.argv[1])))
    sandboxes = [await site.boot(kind) for kind in ("math", "numpy")]
    print(len(sandboxes), site.unbounded, flush=True)
    if sys.argv[2] == "hang":
        await sandboxes[0].ended()
    for sandbox in sandboxes:
        await sandbox.close()
    site.close()

asyncio.run(main())
"""


@asynccontextmanager
async def opened(runtime_dir: Path, **settings: Any) -> AsyncIterator[Site]:
    site = await open_site(SandboxSettings(runtime_dir=runtime_dir, wall_seconds=_WALL_SECONDS, **settings))
    try:
        yield site
    finally:
        site.close()


@asynccontextmanager
async def booted(site: Site, kind: str = MATH) -> AsyncIterator[Sandbox]:
    sandbox = await site.boot(kind)
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def run(sandbox: Sandbox, code: str, *names: str) -> Execution:
    job = submission(Job(code=code, result_variables=names), SandboxSettings(wall_seconds=_WALL_SECONDS))
    return await sandbox.run(job, Vetting(refused=""))


async def assert_sound(sandbox: Sandbox, kind: str = MATH) -> None:
    done = await run(sandbox, _USES[kind], "x")
    assert done.status == STATUS_OK, done
    assert done.values[0].value.real == pytest.approx(5)


def put_before_runsc(folder: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    """Makes the runsc that is found a script that may end before it comes to the real one."""
    script = folder / "runsc"
    script.write_text(f'#!/bin/sh\n{lines}\nexec {shutil.which("runsc")} $more "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def killed(site: Site, title: str) -> bool:
    """Kills the process of a site's sandboxes that calls itself so."""
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


def of_sandboxes(site: Site) -> list[str]:
    """What there is of the site's sandboxes, while the site itself goes on."""
    own = [site.folder.path, *(site.cgroup.folders if site.cgroup else ())]
    nested = [entry for folder in own if folder.exists() for entry in folder.iterdir() if entry.name.isdigit()]
    others = [told for told in leftovers(site.folder.path) if not told.startswith("folder ")]
    return [*map(str, nested), *(told for told in others if not told.endswith(site.folder.path.name))]


async def assert_nothing_left(folder: Path) -> None:
    """At once of what was here; pools of other tests may be about to start, or to end."""
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


@pytest.mark.parametrize("victim", ["runsc", "runsc-gofer", "runsc-sandbox"])
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


async def test_a_site_that_is_closed_with_sandboxes_open_leaves_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as site:
        sandboxes = [await site.boot() for _ in range(2)]
    await until(lambda: leftovers(tmp_path) == [])
    for sandbox in sandboxes:
        await sandbox.ended()
        await sandbox.close()


async def test_what_a_killed_owner_leaves_is_removed_by_the_next_start(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, tmp_path, "hang"], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert await asyncio.to_thread(owner.stdout.readline) != ""
    left = list(tmp_path.iterdir())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    async with opened(tmp_path) as site:
        assert left != [site.folder.path] == list(tmp_path.iterdir())
        async with booted(site) as sandbox:
            await assert_sound(sandbox)
        await until(lambda: of_sandboxes(site) == [])
    await until(lambda: leftovers(tmp_path) == [])


@nobody.only_root_can
async def test_an_ordinary_users_sandboxes_leave_nothing_either() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        ran = nobody.run(nobody.python(), "-c", _OWNER, folder, "end")
        assert (ran.stdout, ran.stderr) == ("2 only root can have control groups made by runsc\n", "")
        await assert_nothing_left(Path(folder))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_can_write_to_its_scratch_folder_and_nowhere_else(tmp_path: Path, kind: str) -> None:
    async with opened(tmp_path) as site, booted(site, kind) as sandbox:
        done = await run(sandbox, _WRITES, "folders", "files")
        assert done.status == STATUS_OK, done
        folders, files = (named.value.items.items for named in done.values)
        assert [folder.text for folder in folders] == ["/tmp"]
        assert [file.text for file in files] == []


async def test_a_math_sandbox_holds_no_package(tmp_path: Path) -> None:
    code = "import os\nx = [place for place, _, _ in os.walk('/') if place.endswith(('/numpy', '/sympy', '/mpmath'))]"
    async with opened(tmp_path) as site, booted(site) as sandbox:
        done = await run(sandbox, code, "x")
        assert done.status == STATUS_OK, done
        assert list(done.values[0].value.items.items) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_a_zygote_has_no_thread_that_a_job_would_lack(tmp_path: Path, kind: str) -> None:
    async with opened(tmp_path) as site, booted(site, kind) as sandbox:
        done = await run(sandbox, "import re\nx = re.search('Threads:\\t(.*)', open('/proc/1/status').read())[1]", "x")
        assert done.values[0].value.text == "1", done


async def test_a_zygote_is_not_root_and_can_do_only_what_its_jobs_need_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, booted(site) as sandbox:
        done = await run(
            sandbox, "import os\nx = open('/proc/1/status').read()\ny = open('/proc/self/status').read()", "x", "y"
        )
        zygote, child = (dict(line.split(":\t", 1) for line in each.value.text.splitlines()) for each in done.values)
    assert zygote["Uid"].split() == zygote["Gid"].split() == [str(ZYGOTE_UID)] * 4
    assert {int(zygote[held], 16) for held in ("CapPrm", "CapEff", "CapBnd")} == {_OF_A_ZYGOTE}
    assert {int(child[held], 16) for held in ("CapPrm", "CapEff", "CapInh")} == {0}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_memory_bomb_meets_its_own_limit_and_harms_no_sandbox(tmp_path: Path, kind: str) -> None:
    async with opened(tmp_path) as site, booted(site, kind) as sandbox:
        # What else counts against the sandbox first: its whole scratch folder.
        filled = "for n in range(15): open(str(n), 'wb').write(b'x' * 10**6)"
        done = await run(sandbox, f"{filled}\nx = []\nwhile True: x.append(b'x' * 10**6)")
        assert done.status == STATUS_MEMORY, done
        await assert_sound(sandbox, kind)


async def test_a_job_sees_the_memory_of_its_sandbox_and_not_the_hosts(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, booted(site) as sandbox:
        if site.cgroup is None:
            pytest.skip(site.unbounded)
        done = await run(sandbox, "import os\nx = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')", "x")
        assert int(done.values[0].value.integer) == site.settings.memory_bytes + CGROUP["overhead_bytes"]


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


async def test_a_platform_that_hangs_is_given_up_after_its_time_for_one_that_boots(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = 'case "$*" in *--platform=systrap*) exec sleep 600;; esac'
    put_before_runsc(tmp_path_factory.mktemp("bin"), monkeypatch, hanging)
    async with opened(tmp_path, boot_seconds=4.0) as site:
        assert site.platform == "ptrace"
    await until(lambda: leftovers(tmp_path) == [])


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            'case "$*" in *--version*|*--ignore-cgroups*);; *) echo no cgroups here >&2; exit 1;; esac',
            "no cgroups here",
        ),
        ("more=--ignore-cgroups", "put the sandbox under no limit"),
    ],
)
async def test_a_runsc_that_makes_no_control_groups_is_used_without_and_the_reason_is_told(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    lines: str,
    why: str,
) -> None:
    put_before_runsc(tmp_path_factory.mktemp("bin"), monkeypatch, lines)
    async with opened(tmp_path) as site:
        if os.geteuid() != 0:
            pytest.skip(site.unbounded)
        assert site.cgroup is None
        assert why in site.unbounded
        assert why in caplog.text
        async with booted(site) as sandbox:
            await assert_sound(sandbox)
    await until(lambda: leftovers(tmp_path) == [])


async def test_a_kind_whose_packages_are_missing_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as site:
        monkeypatch.setattr(sys, "path", [])
        for name in [name for name in sys.modules if name.partition(".")[0] == "mpmath"]:
            monkeypatch.delitem(sys.modules, name)
        with pytest.raises(SandboxUnavailable, match=r"no sympy sandbox without .*mpmath.*: pip install .*mpmath"):
            await site.boot("sympy")
        async with booted(site) as sandbox:
            await assert_sound(sandbox)
