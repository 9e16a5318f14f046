"""Builds Kubernetes with etcd, kwok, CoreDNS, kube-router, operators and buildx with Go, once: an hour on two cores."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import cache
from tests.cluster import trimming

_HERE = Path(__file__).parent
_KWOK = _HERE / "kwok"
_DNS = _HERE.parent / "node/dns"
_POLICIES = _HERE.parent / "node/policies"
_BUILDX = _HERE.parent / "images/buildx"
# A memory limit that lets the linker run beside other work.
_ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOMEMLIMIT": "6GiB"}


class NotBuilt(Exception):
    """The program is not available on this machine."""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """An operator's Go module; `own` is our module, which names its version."""

    own: Path
    path: str

    def sources(self) -> Path:
        """Returns the folder of the module, which go has checked."""
        asked = ["go", "mod", "download", "-json", self.path]
        done = subprocess.run(asked, cwd=self.own, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotBuilt(f"go does not find {self.path}: {(done.stderr or done.stdout).strip()[-500:]}")
        return Path(json.loads(done.stdout)["Dir"])

    def definitions(self) -> Path:
        """Returns the folder with its custom resource definitions."""
        return self.sources() / "config/crd/bases"


KEDA = Operator(own=_HERE / "keda", path="github.com/kedacore/keda/v2")
KUBERAY = Operator(own=_HERE / "kuberay", path="github.com/ray-project/kuberay/ray-operator")


def kubernetes() -> Path:
    """Returns the program; its first argument is etcd, apiserver, controllers, scheduler, kubelet or proxy."""
    return _built("kubernetes", _HERE / "go.mod", _build_kubernetes)


def kwok() -> Path:
    """Returns kwok, which simulates the kubelets of nodes."""
    return _built("kwok", _KWOK / "go.mod", _build_kwok)


def coredns() -> Path:
    """Returns CoreDNS with only the plugins that cluster names need."""
    return _built("coredns", _DNS / "go.mod", _build_coredns)


def kube_router() -> Path:
    """Returns kube-router, which enforces NetworkPolicies on a node."""
    return _built("kube-router", _POLICIES / "go.mod", _build_kube_router)


def kuberay() -> Path:
    """Returns KubeRay's operator."""
    return _built("kuberay", KUBERAY.own / "go.mod", _build_kuberay)


def keda() -> Path:
    """Returns KEDA's operator; beside it is `adapter`, which answers Kubernetes' autoscaler."""
    return _built("keda", KEDA.own / "go.mod", _build_keda)


def buildx() -> Path:
    """Returns docker's buildx, which reads a bake file without an engine."""
    return _built("buildx", _BUILDX / "go.mod", _build_buildx)


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


def _build_kube_router(folder: Path) -> str | None:
    path = "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"
    return _build(_POLICIES, path, folder / "kube-router")


def _build_buildx(folder: Path) -> str | None:
    return _build(_BUILDX, "github.com/docker/buildx/cmd/buildx", folder / "buildx")


def _build_kuberay(folder: Path) -> str | None:
    return _build(KUBERAY.own, KUBERAY.path, folder / "kuberay")


def _build_keda(folder: Path) -> str | None:
    with tempfile.TemporaryDirectory() as place:
        sources, own = Path(place, "sources"), Path(place, "own")
        trimming.copy(KEDA.sources(), sources)
        shutil.copytree(KEDA.own, own)
        subprocess.run(["go", "mod", "edit", f"-replace={KEDA.path}={sources}"], cwd=own, check=True)
        parts = {"operator": "keda", "adapter": "adapter"}
        failures = (_build(own, f"{KEDA.path}/cmd/{part}", folder / name) for part, name in parts.items())
        return next(filter(None, failures), None)


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
        for build in (kubernetes, kwok, kuberay, keda):
            build()
    except NotBuilt as error:
        raise SystemExit(f"no cluster: {error}") from error
