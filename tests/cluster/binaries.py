"""Builds Kubernetes with etcd in one program, kwok and CoreDNS with Go, once: half an hour on two cores."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests import cache

_HERE = Path(__file__).parent
_KWOK = _HERE / "kwok"
_DNS = _HERE.parent / "node/dns"
# A memory limit that lets the linker run beside other work.
_ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOMEMLIMIT": "6GiB"}


class NotBuilt(Exception):
    """The program is not available on this machine."""


def kubernetes() -> Path:
    """Returns the program; its first argument is etcd, apiserver, controllers, scheduler, kubelet or proxy."""
    return _built("kubernetes", _HERE / "go.mod", _build_kubernetes)


def kwok() -> Path:
    """Returns kwok, which simulates the kubelets of nodes."""
    return _built("kwok", _KWOK / "go.mod", _build_kwok)


def coredns() -> Path:
    """Returns CoreDNS with only the plugins that cluster names need."""
    return _built("coredns", _DNS / "go.mod", _build_coredns)


def _built(name: str, module: Path, build: Callable[[Path], str | None]) -> Path:
    folder = cache.place(name, module)
    if (failure := cache.failure(folder, build)) is not None:
        raise NotBuilt(failure)
    return folder / name


def _build_kubernetes(folder: Path) -> str | None:
    [version] = re.findall(r"k8s.io/kubernetes v(\S+)", (_HERE / "go.mod").read_text("utf-8"))
    # Version variables that a release build sets; Helm asks the server for them.
    told = {"gitVersion": f"v{version}", "gitMajor": "1", "gitMinor": version.split(".")[1]}
    flags = [f"-X k8s.io/component-base/version.{name}={value}" for name, value in told.items()]
    return _build(_HERE, "./kubernetes", folder / "kubernetes", *flags)


def _build_kwok(folder: Path) -> str | None:
    return _build(_KWOK, "sigs.k8s.io/kwok/cmd/kwok", folder / "kwok")


def _build_coredns(folder: Path) -> str | None:
    return _build(_DNS, ".", folder / "coredns")


def _build(module: Path, package: str, to: Path, *flags: str) -> str | None:
    go = shutil.which("go")
    if go is None:
        return f"go is missing: install Go 1.26 or later, which builds {to.name}"
    command = [go, "build", "-trimpath", f"-ldflags={' '.join(['-s -w', *flags])}", "-o", str(to), package]
    environment = os.environ | _ENVIRONMENT
    done = subprocess.run(command, cwd=module, env=environment, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"go could not build {to.name}: {done.stderr.strip()[-500:]}"


if __name__ == "__main__":
    try:
        kubernetes()
        kwok()
    except NotBuilt as error:
        raise SystemExit(f"no cluster: {error}") from error
