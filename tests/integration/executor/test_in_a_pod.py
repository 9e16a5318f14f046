"""The executor as in the chart: an ordinary user under the chart's seccomp profile."""

import errno
import json
from ctypes.util import find_library
from pathlib import Path

import pytest

from tests.integration.executor import nobody

ROOT = Path(__file__).parents[3]
PROFILE = ROOT / "deploy/helm/soliloquy/files/executor/seccomp.json"
_CONFINE = (ROOT / "tests/images/confine.py").read_text("utf-8")
_SANDBOX = """
import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.launcher import open_launcher

async def boot():
    with TemporaryDirectory() as folder:
        site = await open_launcher(SandboxSettings(runtime_dir=Path(folder)))
        try:
            async with asyncio.timeout(120):
                print("booted", (await site.boot()).proofs)
        finally:
            for sandbox in site.booted:
                await sandbox.close()
            site.folder.remove()

try:
    asyncio.run(boot())
except SandboxUnavailable as error:
    print("no sandbox boots")
"""
_REFUSED = """
import ctypes
library = ctypes.CDLL(None, use_errno=True)
for number in {"bpf": 321, "add_key": 248, "io_uring_setup": 425, "init_module": 175, "clock_settime": 227}.values():
    print(library.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno())
"""

pytestmark = [
    nobody.only_root_can,
    pytest.mark.skipif(find_library("seccomp") is None, reason="libseccomp is missing: apt-get install libseccomp2"),
]


def confined(profile: dict[str, object], code: str) -> str:
    python = nobody.python()
    ran = nobody.run(python, "-c", _CONFINE, json.dumps(profile), python, "-c", code)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_gvisor_boots_under_the_profile_that_the_chart_ships() -> None:
    assert confined(json.loads(PROFILE.read_bytes()), _SANDBOX).startswith("booted")


def test_and_as_the_security_profiles_operator_installs_it() -> None:
    # Its SeccompProfile has no field for another default.
    profile = json.loads(PROFILE.read_bytes())
    del profile["defaultErrnoRet"]
    assert confined(profile, _SANDBOX).startswith("booted")


def test_and_does_not_under_what_containers_usually_may() -> None:
    profile = json.loads(PROFILE.read_bytes())
    assert "unshare" in profile["syscalls"].pop(0)["names"]
    assert confined(profile, _SANDBOX) == "no sandbox boots\n"


def test_the_profile_refuses_what_no_program_of_ours_needs() -> None:
    told = confined(json.loads(PROFILE.read_bytes()), _REFUSED)
    assert told.split("\n")[:-1] == [f"-1 {errno.EPERM}"] * 5
