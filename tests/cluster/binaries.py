"""The API server, built once by Go: a quarter of an hour on two cores."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests import cache

_MODULE = Path(__file__).with_name("go.mod")
# A limit that lets the linker, too, live beside other work.
_ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOMEMLIMIT": "6GiB"}


class NotBuilt(Exception):
    """There is no API server on this machine."""


def apiserver() -> Path:
    folder = cache.place("cluster", _MODULE)
    if (failure := cache.failure(folder, _build)) is not None:
        raise NotBuilt(failure)
    return folder / "apiserver"


def _version() -> str:
    [version] = re.findall(r"k8s.io/kubernetes v(\S+)", _MODULE.read_text("utf-8"))
    return str(version)


def _build(folder: Path) -> str | None:
    go = shutil.which("go")
    if go is None:
        return "go is missing: install Go 1.25 or later, which builds the API server"
    # What a release is told by who builds it, and Helm asks the server for.
    told = {"gitVersion": f"v{_version()}", "gitMajor": "1", "gitMinor": _version().split(".")[1]}
    flags = "-s -w " + " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in told.items())
    command = [go, "build", "-trimpath", f"-ldflags={flags}", "-o", str(folder / "apiserver"), "./apiserver"]
    environment = os.environ | _ENVIRONMENT
    done = subprocess.run(command, cwd=_MODULE.parent, env=environment, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"go could not build the API server: {done.stderr.strip()[-500:]}"
