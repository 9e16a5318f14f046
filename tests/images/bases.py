"""Makes this machine's counterparts of the two base images, from Debian's packages and the installed Go."""

import os
import subprocess
import tempfile
from pathlib import Path

# As python:3.11-slim-bookworm, whose Python is compiled; its pip is newer.
_PACKAGES = "ca-certificates,netbase,tzdata,python3,python3-pip,python3-venv,python-is-python3"
# Of the machine that makes it, not of the image.
_MACHINE_S = 'rm -f "$1"/etc/resolv.conf "$1"/etc/hostname'


def pushed(registry: str) -> dict[str, str]:
    """Returns the build arguments BASE and GO, by digest."""
    return {"BASE": _pushed(registry, "python", _python()), "GO": _pushed(registry, "golang", _go())}


def _python() -> str:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root.tar")
        make = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={_PACKAGES}"]
        _said(*make, f"--customize-hook={_MACHINE_S}", "bookworm", str(root))
        container = _said("buildah", "from", "scratch")
        _said("buildah", "add", "--quiet", container, str(root), "/")
    return _committed(container, "python")


def _go() -> str:
    root = _said("go", "env", "GOROOT")
    container = _said("buildah", "from", "--pull-never", "localhost/bases/python")
    _said("buildah", "add", "--quiet", container, root, "/usr/local/go")
    path = "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    _said("buildah", "config", f"--env=PATH={path}", container)
    return _committed(container, "golang")


def _committed(container: str, name: str) -> str:
    image = f"localhost/bases/{name}"
    _said("buildah", "commit", "--quiet", "--timestamp=0", container, image)
    _said("buildah", "rm", container)
    return image


def _pushed(registry: str, name: str, image: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        digest = Path(folder, "digest")
        there = f"{registry}/bases/{name}"
        _said("buildah", "push", "--tls-verify=false", f"--digestfile={digest}", image, f"docker://{there}:local")
        return f"{there}@{digest.read_text('utf-8')}"


def _said(*words: str) -> str:
    environment = os.environ | {"SOURCE_DATE_EPOCH": "0"}
    return subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
