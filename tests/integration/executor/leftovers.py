"""Finds what pools have left on the machine: processes, mounts, control groups and folders."""

import os
from pathlib import Path

from soliloquy_services.executor.gvisor import bundle
from soliloquy_services.executor.gvisor.folder import PREFIX

_PARENT = 1


def cgroups() -> list[Path]:
    """Lists those of all pools on the machine."""
    walked = os.walk("/sys/fs/cgroup")
    return [Path(place, name) for place, names, _ in walked for name in names if name.startswith(PREFIX)]


# Left by test runs that were killed before this one.
_OLDER = frozenset(cgroups())


def leftovers(runtime_dir: Path) -> list[str]:
    """Lists everything of pools in this folder, and everything on the machine that belongs to no living pool."""
    commands = _commands()
    told = [f"process {pid}: {command}" for pid, command in commands.items() if f"{runtime_dir}/" in command]
    told += [f"orphan {pid} of {exe}" for pid, exe in _orphans(commands).items()]
    mounted = bundle.parse(bundle.MOUNTINFO.read_text("utf-8"))
    told += [f"mount {mount.point}" for mount in mounted if runtime_dir in mount.point.parents]
    running = "\n".join(commands.values())
    told += [f"cgroup {folder}" for folder in cgroups() if folder not in _OLDER and folder.name not in running]
    return told + [f"folder {path}" for path in runtime_dir.iterdir()]


def _commands() -> dict[int, str]:
    """Covers every process that has one; a gVisor process that runs guest code has none."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return {pid: command for pid, command in found.items() if "runsc" in command.partition(" ")[0] or not command}


def _orphans(commands: dict[int, str]) -> dict[int, str]:
    """Lists processes that run guest code without a sandbox."""
    found = {}
    for pid, command in commands.items():
        try:
            exe = (Path("/proc") / str(pid) / "exe").readlink()
            parent = int((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[_PARENT])
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if not command and exe.name.startswith("runsc") and parent == 1:
            found[pid] = str(exe)
    return found
