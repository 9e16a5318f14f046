"""The one place that knows how runsc is found, asked and called."""

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from soliloquy.runtime.retry import Transient

# Never kvm: where it does not work it hangs, and where it does it needs a device that a job should not be near.
PLATFORMS = ("systrap", "ptrace")
INSTALL = (
    "install runsc (Debian, Ubuntu: sudo apt-get install runsc; elsewhere: https://gvisor.dev/docs/user_guide/install/)"
)
_ANSWER_SECONDS = 10.0
# What a runsc says that was built without being told its release.
_UNTOLD = "VERSION_MISSING"


class SandboxUnavailable(Transient):
    """No job can run: there is no sandbox to run it in, and nothing else ever runs one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Runsc:
    path: str
    version: str

    def command(self, *, platform: str, cgroups: bool, state: Path, bundle: Path, name: str) -> list[str]:
        return [
            *(self.path, f"--root={state}", f"--platform={platform}", "--network=none"),
            *([] if os.geteuid() == 0 else ["--rootless"]),
            *([] if cgroups else ["--ignore-cgroups"]),
            *("run", f"--bundle={bundle}", name),
        ]


async def find() -> Runsc:
    path = shutil.which("runsc")
    if path is None:
        raise SandboxUnavailable(f"gVisor is missing: {INSTALL}")
    try:
        process = await asyncio.create_subprocess_exec(
            path, "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
    except OSError as error:
        raise SandboxUnavailable(f"{path} cannot be run ({error}): {INSTALL}") from error
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise SandboxUnavailable(f"{path} --version took more than {_ANSWER_SECONDS:g} s: {INSTALL}") from None
    words = output.decode(errors="replace").split()
    if process.returncode != 0 or len(words) < 3 or words[:2] != ["runsc", "version"]:
        said = " ".join(words)[:200] or "nothing"
        raise SandboxUnavailable(f"{path} --version ended with {process.returncode} and said {said!r}: {INSTALL}")
    return Runsc(path=path, version="unknown" if words[2] == _UNTOLD else words[2])
