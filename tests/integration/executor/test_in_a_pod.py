"""The executor as the chart has it on a node: an ordinary user under the seccomp profile that the chart ships."""

import errno
import json
from ctypes.util import find_library
from pathlib import Path

import pytest

from tests.integration.executor import nobody

PROFILE = Path(__file__).parents[3] / "deploy/helm/soliloquy/files/executor/seccomp.json"
# As a container runtime does it; then the rest of the command line.
_CONFINED = """
import ctypes, json, sys
profile, code = json.loads(sys.argv[1]), sys.argv[2]
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
rules = ctypes.c_void_p(library.seccomp_init(0x00050000 | profile["defaultErrnoRet"]))
for rule in profile["syscalls"]:
    action = 0x7FFF0000 if rule["action"] == "SCMP_ACT_ALLOW" else 0x00050000 | rule["errnoRet"]
    for name in rule["names"]:
        number = library.seccomp_syscall_resolve_name(name.encode())
        # One that it has not heard of does not exist then.
        assert number < 0 or library.seccomp_rule_add(rules, action, number, 0) == 0, name
assert library.seccomp_load(rules) == 0
exec(code)
"""
_SANDBOX = """
import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from services.executor.gvisor.runsc import SandboxUnavailable
from services.executor.settings import SandboxSettings
from services.executor.site import open_site

async def boot():
    with TemporaryDirectory() as folder:
        site = await open_site(SandboxSettings(runtime_dir=Path(folder)))
        try:
            async with asyncio.timeout(30):
                print("booted", (await site.boot()).proofs)
        finally:
            for sandbox in site.booted:
                await sandbox.close()
            site.close()

try:
    asyncio.run(boot())
except SandboxUnavailable as error:
    print("no sandbox boots")
"""
_REFUSED = """
import os
library = ctypes.CDLL(None, use_errno=True)
for number in {"bpf": 321, "add_key": 248, "io_uring_setup": 425, "init_module": 175, "clock_settime": 227}.values():
    print(library.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno())
"""

pytestmark = [
    nobody.only_root_can,
    pytest.mark.skipif(find_library("seccomp") is None, reason="libseccomp is missing: apt-get install libseccomp2"),
]


def confined(profile: dict[str, object], code: str) -> str:
    ran = nobody.run(nobody.python(), "-c", _CONFINED, json.dumps(profile), code)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_gvisor_boots_under_the_profile_that_the_chart_ships() -> None:
    assert confined(json.loads(PROFILE.read_bytes()), _SANDBOX).startswith("booted")


def test_and_does_not_under_what_containers_usually_may() -> None:
    profile = json.loads(PROFILE.read_bytes())
    assert "unshare" in profile["syscalls"].pop(0)["names"]
    assert confined(profile, _SANDBOX) == "no sandbox boots\n"


def test_the_profile_refuses_what_no_program_of_ours_needs() -> None:
    told = confined(json.loads(PROFILE.read_bytes()), _REFUSED)
    assert told.split("\n")[:-1] == [f"-1 {errno.EPERM}"] * 5
