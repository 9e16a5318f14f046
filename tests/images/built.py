"""Builds the images with `make images` and keeps them in a registry of this machine until their sources change."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import cache
from tests.images import bases, registry

ROOT = Path(__file__).parents[2]
# The model's packages take several GB, so nobody waits for it unasked.
NAMES = ("workers", "executor")
_KEPT = cache.home() / "images.json"
# Debian packages by a program of each.
_PACKAGES = {"buildah": "buildah", "docker-registry": "docker-registry", "mmdebstrap": "mmdebstrap", "skopeo": "skopeo"}
# Inputs of the build steps.
_FOLDERS = (
    "deploy/helm/soliloquy/files/rules",
    "deploy/images/runsc",
    "protos",
    "soliloquy",
    "papers",
    "services",
    "training",
)
_INPUTS = ("Dockerfile", "__main__.py", "bake.py", "build.lock", "docker-bake.json", "sbom.py", "workers.lock")
_FILES = (
    *(f"deploy/images/{name}" for name in _INPUTS),
    *("pyproject.toml", "README.md", "requirements.lock", "tests/images/bases.py"),
)


def build(*, anew: bool = False) -> dict[str, str]:
    """Returns the digest of each image, which are kept unless all is to be built `anew`; the registry has to be up.

    Images of other sources go: those of one take half a gigabyte.
    """
    sources = _digest()
    if not anew and _KEPT.exists() and json.loads(_KEPT.read_text("utf-8"))["sources"] == sources:
        return known()
    registry.clear()
    arguments = bases.pushed(registry.HOST) | _revision()
    digests = _once(arguments)
    _KEPT.write_text(json.dumps({"sources": sources, "digests": digests, "arguments": arguments}), "utf-8")
    return digests


def known() -> dict[str, str]:
    """Returns the digests of the last build."""
    return dict(json.loads(_KEPT.read_text("utf-8"))["digests"])


def again() -> dict[str, str]:
    """Repeats every step on the same bases, as the same revision."""
    return _once(json.loads(_KEPT.read_text("utf-8"))["arguments"])


def _once(arguments: dict[str, str]) -> dict[str, str]:
    # The certificates of this machine are mounted: what stands between it and the registries is nobody else's.
    asked = [f"--push={registry.HOST}", "--authorities=/etc/ssl/certs", *NAMES]
    environment = os.environ | arguments | {"BUILDAH_ISOLATION": "chroot"}
    subprocess.run([sys.executable, "-m", "deploy.images", *asked], cwd=ROOT, env=environment, check=True)
    values = json.loads((ROOT / "dist/images.json").read_text("utf-8"))
    return {name: values["images"][name]["digest"] for name in NAMES}


def install() -> None:
    if missing := [package for program, package in _PACKAGES.items() if shutil.which(program) is None]:
        subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", *missing], check=True)


def _revision() -> dict[str, str]:
    """A build takes these from git. A later commit that changes no source of the images leaves them as they are."""
    told = {"REVISION": ("rev-parse", "HEAD"), "SOURCE_DATE_EPOCH": ("log", "-1", "--format=%ct")}
    return {name: subprocess.check_output(["git", *words], cwd=ROOT, text=True).strip() for name, words in told.items()}


def _digest() -> str:
    files = sorted(file for folder in _FOLDERS for file in (ROOT / folder).rglob("*"))
    told = hashlib.sha256()
    for file in (*files, *(ROOT / name for name in _FILES)):
        if file.is_file() and "__pycache__" not in file.parts and "_pb2" not in file.name:
            told.update(str(file.relative_to(ROOT)).encode())
            told.update(file.read_bytes())
    return told.hexdigest()
