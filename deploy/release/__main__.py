"""Implements `make release` and `make bundle`: all of a release that needs no secret, in dist/."""

import os
import subprocess
import sys
from pathlib import Path

from deploy.release import bundle, chart, readiness
from deploy.release.readiness import ROOT

DIST = ROOT / "dist"
_IMAGES = ("workers", "executor", "model")


def release(version: str) -> None:
    """Makes wheel, source archive, chart, notes and checksums."""
    changelog = readiness.CHANGELOG.read_text("utf-8")
    if found := readiness.obstacles(version, readiness.versions(), changelog):
        raise SystemExit("\n".join([f"{version} cannot be released:", *(f"  {each}" for each in found)]))
    notes = DIST / "notes.md"
    registry = bundle.pushed()["global"]["imageRegistry"]
    told = [readiness.changes(version, changelog), readiness.installing(version, registry)]
    notes.write_text("\n\n".join(told) + "\n", "utf-8")
    made = [*python(DIST), _chart(version), notes]
    bundle.write_checksums(DIST, made)
    _say(*made, DIST / "SHA256SUMS")


def bundled() -> None:
    version = readiness.version()
    python(DIST)
    _chart(version)
    _say(bundle.pack(bundle.pushed(), version, DIST))


def python(folder: Path) -> list[Path]:
    """Builds wheel and source archive; files in them have the time of the commit."""
    for old in (*folder.glob("soliloquy_tutor-*.whl"), *folder.glob("soliloquy_tutor-*.tar.gz")):
        old.unlink()
    time = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True).strip()
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    environment = {"SOURCE_DATE_EPOCH": time} | os.environ
    subprocess.run(build, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return [*folder.glob("soliloquy_tutor-*.whl"), *folder.glob("soliloquy_tutor-*.tar.gz")]


def _chart(version: str) -> Path:
    pinned = bundle.pushed()
    for name in _IMAGES:
        if name not in pinned["images"]:
            print(f"{name} was not pushed: the chart names it by tag")
    packed = DIST / f"soliloquy-{version}.tgz"
    chart.pack(pinned, packed)
    return packed


def _say(*made: Path) -> None:
    for file in made:
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    DIST.mkdir(exist_ok=True)
    if sys.argv[1:] == ["bundle"]:
        bundled()
    elif len(sys.argv) == 2 and sys.argv[1]:
        release(sys.argv[1])
    else:
        raise SystemExit("usage: make release VERSION=0.3.0, or make bundle")
