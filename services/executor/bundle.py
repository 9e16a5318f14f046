"""The OCI bundle that every sandbox boots: a read-only root with just what this Python needs."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from services.executor.policy import EXTENSIONS, LIMITS, ZYGOTE_UID
from services.executor.runsc import SandboxUnavailable

_GUEST = Path(__file__).with_name("guest")
_GUEST_HOME = "/soliloquy"
_START = f"import sys; sys.path.append({_GUEST_HOME!r}); from guest.zygote import main; main()"
# Isolated, but for the hash seed in the environment, which -I would ignore and without which sets print in any order.
_FLAGS = ("-s", "-P", "-S", "-B")
# The zygote gives each child a uid of its own, kills it and tidies what it left; children keep none of these.
_CAPABILITIES = ["CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_FOWNER"]


def build(bundle: Path) -> None:
    """Lays out the root and writes `config.json`; sandboxes can share the bundle, since none can write to it."""
    root = bundle / "rootfs"
    hidden = bundle / "hidden"
    stdlib = Path(sysconfig.get_path("stdlib"))
    executable = Path(sys.executable).resolve()
    for folder in (hidden, root / "proc", root / "tmp", root / "dev", root / "sys", _inside(root, stdlib)):
        folder.mkdir(parents=True)
    libraries = _libraries(executable, stdlib)
    for file in (executable, *libraries):
        _copy(file, _inside(root, file))
    _link_libraries(root, libraries)
    for file in _GUEST.glob("*.py"):
        _copy(file, root / _GUEST_HOME[1:] / "guest" / file.name)
    for path, _, _ in os.walk(bundle):
        Path(path).chmod(0o755)
    (bundle / "config.json").write_text(json.dumps(_config(executable, stdlib, hidden)), "utf-8")


def _libraries(executable: Path, stdlib: Path) -> list[Path]:
    """The shared libraries and the loader, by the paths at which the loader looks for them."""
    modules = [file for name in EXTENSIONS for file in (stdlib / "lib-dynload").glob(f"{name}.*.so")]
    try:
        listing = subprocess.run(["ldd", executable, *modules], capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise SandboxUnavailable(f"cannot list the libraries that {executable} needs: ldd: {error.strerror}") from error
    return sorted({Path(found) for found in re.findall(r"(/\S+) \(0x", listing)})


def _link_libraries(root: Path, libraries: list[Path]) -> None:
    """Lets the loader find every library beside libc, where it looks without the host's ld.so.cache."""
    beside = {file.parent for file in libraries if file.name.startswith("libc.")}
    for folder in beside:
        for file in libraries:
            if file.parent != folder and not _inside(root, folder / file.name).exists():
                _inside(root, folder / file.name).symlink_to(file)


def _copy(source: Path, target: Path) -> None:
    # Copies, not binds: each bind is a file server of its own, and the source may lie in a folder closed to others.
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _config(executable: Path, stdlib: Path, hidden: Path) -> dict[str, Any]:
    sets = ("bounding", "effective", "permitted", "inheritable", "ambient")
    return {
        "ociVersion": "1.0.2",
        "hostname": "sandbox",
        "root": {"path": "rootfs", "readonly": True},
        "process": {
            "args": [str(executable), *_FLAGS, "-c", _START],
            "env": ["PYTHONHASHSEED=0"],
            "cwd": "/tmp",
            "user": {"uid": ZYGOTE_UID, "gid": ZYGOTE_UID},
            "capabilities": dict.fromkeys(sets, _CAPABILITIES),
            "noNewPrivileges": True,
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {
                "destination": "/tmp",
                "type": "tmpfs",
                "source": "tmpfs",
                "options": [f"size={LIMITS['scratch_bytes']}", "mode=1777"],
            },
            _bind(stdlib, stdlib),
            *[_bind(hidden, packages) for packages in [stdlib / "site-packages"] if packages.is_dir()],
        ],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")]},
    }


def _bind(source: Path, destination: Path) -> dict[str, Any]:
    return {"destination": str(destination), "type": "bind", "source": str(source), "options": ["ro", "rbind"]}
