"""The one place that knows how runsc is found, asked and called."""

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from services.runtime.retry import Transient

PLATFORMS = ("systrap", "ptrace")
INSTALL = (
    "install runsc (Debian, Ubuntu: sudo apt-get install runsc; elsewhere: https://gvisor.dev/docs/user_guide/install/)"
)


class SandboxUnavailable(Transient):
    """No job can run: there is no sandbox to run it in, and nothing else ever runs one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Runsc:
    path: str
    version: str

    def command(self, *, platform: str, root: Path, bundle: Path, name: str) -> list[str]:
        rootless = [] if os.geteuid() == 0 else ["--rootless"]
        return [
            *(self.path, *rootless, f"--root={root}", f"--platform={platform}"),
            *("--network=none", "--ignore-cgroups", "run", f"--bundle={bundle}", name),
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
    output, _ = await process.communicate()
    words = output.decode(errors="replace").split()
    if process.returncode != 0 or words[:2] != ["runsc", "version"]:
        said = " ".join(words)[:200] or "nothing"
        raise SandboxUnavailable(f"{path} --version ended with {process.returncode} and said {said!r}: {INSTALL}")
    return Runsc(path=path, version=words[2])
