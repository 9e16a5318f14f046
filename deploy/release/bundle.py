"""Collects all that an installation without a network needs: images, chart, command line, checksums."""

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from deploy.images.__main__ import plain
from deploy.release.readiness import ROOT

_INSTALL = Path(__file__).with_name("install.sh")
_LOCK = ROOT / "deploy/images/workers.lock"
# As the images: Python 3.11, glibc 2.28 or later.
_PLATFORM = ("--python-version=3.11", "--platform=manylinux_2_28_x86_64", "--platform=manylinux_2_17_x86_64")


def pack(pinned: dict[str, Any], version: str, release: Path) -> Path:
    """Takes images from the registry that they were pushed to, by digest; chart and wheel from the release's folder."""
    if shutil.which("skopeo") is None:
        raise SystemExit("skopeo is missing: install it, it copies images by digest (Debian: skopeo)")
    bundle = release / f"soliloquy-{version}-bundle.tar"
    with tempfile.TemporaryDirectory(dir=release) as place:
        folder = Path(place, f"soliloquy-{version}")
        folder.mkdir()
        for name, image in pinned["images"].items():
            there = f"{pinned['global']['imageRegistry']}/soliloquy/{name}@{image['digest']}"
            _copy(there, f"{folder / 'images'}:{name}")
        _wheels(folder / "wheels", release)
        shutil.copy(release / f"soliloquy-{version}.tgz", folder)
        shutil.copy(_INSTALL, folder)
        (folder / "images.txt").write_text("".join(f"{name}\n" for name in pinned["images"]), "utf-8")
        (folder / "version.txt").write_text(f"{version}\n", "utf-8")
        write_checksums(folder, sorted(path for path in folder.rglob("*") if path.is_file()))
        with tarfile.open(bundle, "w", format=tarfile.PAX_FORMAT) as archive:
            archive.add(folder, folder.name, filter=_nobody_s)
    return bundle


def write_checksums(folder: Path, files: list[Path]) -> None:
    names = [str(file.relative_to(folder)) for file in files]
    told = subprocess.run(["sha256sum", *names], cwd=folder, capture_output=True, text=True, check=True).stdout
    (folder / "SHA256SUMS").write_text(told, "utf-8")


def pushed() -> dict[str, Any]:
    """Returns the digests of the images, as `make images PUSH=..` wrote them."""
    file = ROOT / "dist/images.json"
    if not file.exists():
        raise SystemExit("dist/images.json is missing: make images PUSH=REGISTRY writes it")
    told: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return told


def _copy(reference: str, to: str) -> None:
    insecure = ["--src-tls-verify=false"] if plain(reference) else []
    subprocess.run(["skopeo", "copy", "--quiet", "--all", *insecure, f"docker://{reference}", f"oci:{to}"], check=True)


def _wheels(folder: Path, release: Path) -> None:
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *_PLATFORM]
    subprocess.run([*fetch, "--require-hashes", f"--requirement={_LOCK}", f"--dest={folder}"], check=True)
    for wheel in release.glob("soliloquy_tutor-*.whl"):
        shutil.copy(wheel, folder)


def _nobody_s(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry
