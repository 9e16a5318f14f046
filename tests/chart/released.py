"""Unpacks the last release's chart, from which upgrades are tested."""

import tarfile
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "deploy/helm/released"


def chart(folder: Path) -> Path:
    [archive] = _FOLDER.iterdir()
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / "soliloquy"
