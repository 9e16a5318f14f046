"""Builds OCI bundles: one read-only root with just what this Python needs, and a config.json for each sandbox."""

import ctypes
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy_services.executor.gvisor.runsc import SandboxUnavailable
from soliloquy_services.executor.policy import ENVIRONMENT, EXTENSIONS, KINDS, LIMITS, ZYGOTE_UID

_GUEST = Path(__file__).parents[1] / "guest"
_GUEST_HOME = "/soliloquy"
_ROOT, _HIDDEN = "rootfs", "hidden"
_PYTHON, _STDLIB = Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))
_START = """
import sys
sys.path += {places}
from guest import jail
jail.step_down({uid})
from guest.zygote import main
main()
"""
# Isolated, except that -I would also ignore the hash seed in the environment, which fixes the order of printed sets.
_FLAGS = ("-s", "-P", "-S", "-B")
# The zygote needs them to give each child its own uid, kill it and tidy up after it; children keep none.
_CAPABILITIES = ["CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_FOWNER"]


def lay_out(home: Path) -> None:
    """Builds the root that all bundles share, since no sandbox can write to it."""
    root = home / _ROOT
    for folder in (home / _HIDDEN, root / "proc", root / "tmp", root / "dev", root / "sys", _inside(root, _STDLIB)):
        folder.mkdir(parents=True)
    libraries = _libraries()
    for file in (_PYTHON, *libraries):
        _copy(file, _inside(root, file))
    _link_libraries(root, libraries)
    for file in _GUEST.glob("*.py"):
        _copy(file, root / _GUEST_HOME[1:] / "guest" / file.name)
    for path, _, _ in os.walk(root):
        Path(path).chmod(0o755)


def config(home: Path, kind: str, limits: dict[str, Any]) -> str:
    """Returns a `config.json`; raises SandboxUnavailable if a package of the kind is not installed."""
    packages = _packages(kind)
    place = f"{_GUEST_HOME}/{kind}"
    sets = ("bounding", "effective", "permitted", "inheritable", "ambient")
    oci = {
        "ociVersion": "1.0.2",
        "hostname": "sandbox",
        "root": {"path": str(home / _ROOT), "readonly": True},
        "process": {
            "args": [str(_PYTHON), *_FLAGS, "-c", _START.format(places=[_GUEST_HOME, place], uid=ZYGOTE_UID)],
            "env": [*ENVIRONMENT, *KINDS[kind].environment],
            "cwd": "/tmp",
            # gVisor has no ambient capabilities: any other user would start without capabilities.
            "user": {"uid": 0, "gid": 0},
            "capabilities": dict.fromkeys(sets, _CAPABILITIES),
            "noNewPrivileges": True,
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {
                "destination": "/tmp",
                "type": "tmpfs",
                "source": "tmpfs",
                "options": ["nodev", "nosuid", "noexec", f"size={LIMITS['scratch_bytes']}", "mode=1777"],
            },
            _bind(_STDLIB, _STDLIB),
            *[_bind(home / _HIDDEN, folder) for folder in [_STDLIB / "site-packages"] if folder.is_dir()],
            *[_bind(folder, Path(place, folder.name)) for folder in packages],
        ],
        "linux": {"namespaces": [{"type": name} for name in ("pid", "network", "ipc", "uts", "mount")], **limits},
    }
    return json.dumps(oci)


def _package(name: str) -> list[Path]:
    """Returns the folders of the package and its bundled libraries; none if it is not installed."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        return []
    folder = Path(found.submodule_search_locations[0])
    return [place for place in (folder, folder.with_name(f"{name}.libs")) if place.is_dir()]


def _libraries() -> list[Path]:
    """Returns the shared libraries and the loader, by the paths at which the loader looks for them."""
    dynload = _STDLIB / "lib-dynload"
    packages = {folder for kind in KINDS.values() for name in kind.packages for folder in _package(name)}
    modules = {dynload: [file for name in EXTENSIONS for file in dynload.glob(f"{name}.*.so")]}
    modules |= {folder: [file for file in folder.rglob("*.so") if "tests" not in file.parts] for folder in packages}
    found = {library for folder, files in modules.items() for library in _needed(folder, files)}
    return sorted(library for library in found if packages.isdisjoint(library.parents))


def _needed(folder: Path, modules: list[Path]) -> Iterator[Path]:
    """Yields the libraries that the loader loads with these modules; ldd would start the loader twice for each."""
    # Relative paths, because the loader splits the list at spaces.
    named = ":".join(f"./{file.relative_to(folder)}" for file in modules)
    environment = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1", "LD_PRELOAD": named}
    trace = subprocess.run(
        [_PYTHON], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    for path in re.findall(r"^\s(?:\S+ => )?(/\S+) \(0x", trace.stdout, re.MULTILINE):
        yield Path(os.path.normpath(path))


def _link_libraries(root: Path, libraries: list[Path]) -> None:
    """Links every library beside libc, where the loader looks without the host's ld.so.cache."""
    beside = {file.parent for file in libraries if file.name.startswith("libc.")}
    for folder in beside:
        for file in libraries:
            if file.parent != folder and not _inside(root, folder / file.name).exists():
                _inside(root, folder / file.name).symlink_to(file)


def _copy(source: Path, target: Path) -> None:
    # Copies, not binds: each bind needs its own file server, and the source may lie in a folder closed to others.
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _packages(kind: str) -> list[Path]:
    wanted = KINDS[kind].packages
    missing = [name for name in wanted if not _package(name)]
    if missing:
        raise SandboxUnavailable(f"a {kind} sandbox requires {', '.join(missing)}: pip install {' '.join(missing)}")
    return [folder for name in wanted for folder in _package(name)]


def _bind(source: Path, destination: Path) -> dict[str, Any]:
    return {"destination": str(destination), "type": "bind", "source": str(source), "options": ["ro", "rbind"]}


MOUNTINFO = Path("/proc/self/mountinfo")
_DETACH = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    root: str
    point: Path
    kind: str
    options: frozenset[str]


def parse(mountinfo: str) -> Iterator[Mount]:
    for line in mountinfo.splitlines():
        front, _, back = line.partition(" - ")
        root, point = front.split(" ")[3:5]
        kind, _, options = back.split(" ")
        yield Mount(
            root=_unescaped(root), point=Path(_unescaped(point)), kind=kind, options=frozenset(options.split(","))
        )


def unmount_below(folder: Path) -> None:
    """Unmounts the innermost first; raises OSError if one fails."""
    inside = [mount.point for mount in parse(MOUNTINFO.read_text("utf-8")) if folder in mount.point.parents]
    for point in sorted(inside, reverse=True):
        if ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(point), _DETACH):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(point))


def _unescaped(name: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), name)
