"""Inside a sandbox, a job can change and exhaust nothing but its own share."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from soliloquy.v1.sandbox_pb2 import STATUS_MEMORY, STATUS_OK
from soliloquy_services.executor.launcher import SandboxLauncher
from soliloquy_services.executor.policy import CGROUP, MATH, ZYGOTE_UID
from soliloquy_services.executor.sandbox import WarmSandbox
from tests.integration.executor.sites import assert_sound, booted, opened, run
from tests.integration.executor.support import needs_runsc

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="module")]

# Another user, files that are another's, kill: CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL, CAP_SETGID, CAP_SETUID.
_OF_A_ZYGOTE = sum(1 << number for number in (1, 3, 5, 6, 7))

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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SandboxLauncher]:
    async with opened(tmp_path_factory.mktemp("inside")) as site:
        yield site


@pytest.fixture(scope="module", params=[MATH, pytest.param("numpy", marks=pytest.mark.thorough), "sympy"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox(site: SandboxLauncher, kind: str) -> AsyncIterator[WarmSandbox]:
    async with booted(site, kind) as sandbox:
        yield sandbox


@pytest.mark.parametrize("kind", [MATH], indirect=True)
async def test_a_math_sandbox_holds_no_package(sandbox: WarmSandbox) -> None:
    code = "import os\nx = [place for place, _, _ in os.walk('/') if place.endswith(('/numpy', '/sympy', '/mpmath'))]"
    done = await run(sandbox, code, "x")
    assert done.status == STATUS_OK, done
    assert list(done.values[0].value.items.items) == []


async def test_a_zygote_has_no_thread_that_a_job_would_lack(sandbox: WarmSandbox) -> None:
    done = await run(sandbox, "import re\nx = re.search('Threads:\\t(.*)', open('/proc/1/status').read())[1]", "x")
    assert done.values[0].value.text == "1", done


@pytest.mark.parametrize("kind", [MATH], indirect=True)
async def test_a_zygote_is_not_root_and_can_do_only_what_its_jobs_need_of_it(sandbox: WarmSandbox) -> None:
    code = "import os\nx = open('/proc/1/status').read()\ny = open('/proc/self/status').read()"
    done = await run(sandbox, code, "x", "y")
    zygote, child = (dict(line.split(":\t", 1) for line in each.value.text.splitlines()) for each in done.values)
    assert zygote["Uid"].split() == zygote["Gid"].split() == [str(ZYGOTE_UID)] * 4
    assert {int(zygote[held], 16) for held in ("CapPrm", "CapEff", "CapBnd")} == {_OF_A_ZYGOTE}
    assert {int(child[held], 16) for held in ("CapPrm", "CapEff", "CapInh")} == {0}


@pytest.mark.parametrize("kind", [MATH], indirect=True)
async def test_a_job_sees_the_memory_of_its_sandbox_and_not_the_hosts(
    site: SandboxLauncher, sandbox: WarmSandbox
) -> None:
    if site.cgroup is None:
        pytest.skip(site.unbounded)
    done = await run(sandbox, "import os\nx = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')", "x")
    assert int(done.values[0].value.integer) == site.settings.memory_bytes + CGROUP["overhead_bytes"]


async def test_a_memory_bomb_meets_its_own_limit_and_harms_no_sandbox(sandbox: WarmSandbox, kind: str) -> None:
    # The rest of the sandbox's memory goes into its scratch folder first.
    filled = "for n in range(15): open(str(n), 'wb').write(b'x' * 10**6)"
    done = await run(sandbox, f"{filled}\nx = []\nwhile True: x.append(b'x' * 10**6)")
    assert done.status == STATUS_MEMORY, done
    await assert_sound(sandbox, kind)


# The last of each sandbox, since one that a job leaves a folder in is spent.
async def test_a_job_can_write_to_its_scratch_folder_and_nowhere_else(sandbox: WarmSandbox) -> None:
    done = await run(sandbox, _WRITES, "folders", "files")
    assert done.status == STATUS_OK, done
    folders, files = (named.value.items.items for named in done.values)
    assert [folder.text for folder in folders] == ["/tmp"]
    assert [file.text for file in files] == []
