"""Builds the chart's images from this checkout with the Dockerfile's own steps, and Kubernetes' pause program."""

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path

import yaml

from tests import cache
from tests.chart.render import CHART
from tests.cluster import binaries
from tests.images.build import ROOT, Builder
from tests.images.dockerfile import FILE, stages
from tests.node import archives

PAUSE = "soliloquy/pause:1"
NAMES = ("workers", "executor")
# The registry of values-dev.yaml.
REGISTRY = "localhost"
# Inputs of the build steps.
_SOURCES = (
    *(f"deploy/images/{name}" for name in ("Dockerfile", "build.lock", "workers.lock", "runsc")),
    *("deploy/helm/soliloquy/files/rules", "protos", "soliloquy", "services", "training", "pyproject.toml"),
)


def tag() -> str:
    """Returns the tag that the chart uses by default."""
    told = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    return str(told["appVersion"])


def archive() -> Path:
    return cache.home() / "node/images.tar"


def build() -> None:
    """Removes archives of other sources; one archive takes a gigabyte."""
    packed, sources = archive(), _digest()
    built = packed.with_suffix(".sources")
    if built.exists() and built.read_text("utf-8") == sources:
        return
    packed.parent.mkdir(parents=True, exist_ok=True)
    built.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="soliloquy-images-") as work:
        _build(Path(work), packed)
    built.write_text(sources, "utf-8")


def _build(work: Path, packed: Path) -> None:
    described = stages(FILE.read_text("utf-8"))
    builder = Builder(stages=described, folder=work)
    layout = archives.Layout(folder=work / "layout")
    layout.image(PAUSE, [layout.layer(f"--directory={_pause(work)}", "pause")], {"Entrypoint": ["/pause"]})
    base = archives.base(layout)
    for name in NAMES:
        builder.build(name)
        own = layout.layer(f"--directory={builder.root(name)}", ".")
        layout.image(f"{REGISTRY}/soliloquy/{name}:{tag()}", [base, own], archives.config(described, name))
    layout.pack(packed)


def _pause(work: Path) -> Path:
    folder = work / "pause"
    folder.mkdir()
    asked = ["go", "mod", "download", "-json", "k8s.io/kubernetes"]
    module = Path(binaries.__file__).parent
    found = json.loads(subprocess.run(asked, cwd=module, capture_output=True, text=True, check=True).stdout)["Dir"]
    source = Path(found, "build/pause/linux/pause.c")
    subprocess.run(["gcc", "-Os", "-static", "-DVERSION=1", "-o", folder / "pause", source], check=True)
    return folder


def _digest() -> str:
    files = sorted(file for source in _SOURCES for file in (ROOT / source, *(ROOT / source).rglob("*")))
    told = hashlib.sha256(tag().encode())
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts and "_pb2" not in file.name:
            told.update(str(file.relative_to(ROOT)).encode())
            told.update(file.read_bytes())
    return told.hexdigest()
