"""Finds runsc and asks for its version."""

import asyncio
import errno
import shutil
import signal
from dataclasses import dataclass

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.retry import Transient

# Never kvm: it hangs where it does not work, and elsewhere needs a device that no job should come near.
PLATFORMS = ("systrap", "ptrace")
INSTALL = (
    "install runsc (Debian, Ubuntu: sudo apt-get install runsc; elsewhere: https://gvisor.dev/docs/user_guide/install/)"
)
_TIMEOUT_SECONDS = 10.0
_NO_PROGRAM = (errno.ENOENT, errno.EACCES, errno.ENOEXEC)
# A shell's status, and runsc's, for a child that a signal ended.
_SIGNALLED = 128
# Printed by a runsc that was built without a release name.
_NO_VERSION = "VERSION_MISSING"


class SandboxUnavailable(Failure, Transient):
    """No sandbox can run the job, and nothing else ever does."""


class RunscFailed(SandboxUnavailable):
    """runsc ended with an error of its own: it may be broken or too old."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Runsc:
    path: str
    version: str


async def find() -> Runsc:
    path = shutil.which("runsc")
    if path is None:
        raise SandboxUnavailable(f"gVisor is missing: {INSTALL}")
    try:
        process = await asyncio.create_subprocess_exec(
            path, "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
    except OSError as error:
        advice = f": {INSTALL}" if error.errno in _NO_PROGRAM else ""
        raise SandboxUnavailable(f"{path} cannot be run ({error.strerror}){advice}") from error
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise SandboxUnavailable(f"{path} --version took more than {_TIMEOUT_SECONDS:g} s: {INSTALL}") from None
    if killer := killer_of(process.returncode):
        raise SandboxUnavailable(f"{path} --version was killed by {killer}")
    words = output.decode(errors="replace").split()
    if process.returncode != 0 or len(words) < 3 or words[:2] != ["runsc", "version"]:
        printed = " ".join(words)[:200]
        raise SandboxUnavailable(
            f"{path} --version exited with status {process.returncode} and printed {printed!r}: {INSTALL}"
        )
    return Runsc(path=path, version="unknown" if words[2] == _NO_VERSION else words[2])


def killer_of(status: int | None) -> str:
    """Returns the name of the signal that an exit status stands for; empty for any other status."""
    number = -status if status and status < 0 else (status or 0) - _SIGNALLED
    return signal.Signals(number).name if number in set(signal.Signals) else ""
