"""Packs the chart with its images pinned by digest; the same inputs give the same archive."""

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

from deploy.release.readiness import ROOT

CHART = ROOT / "deploy/helm/soliloquy"
_REGISTRY = '  imageRegistry: ""\n'
_IMAGE = '  {name}: {{repository: soliloquy/{name}, tag: "", digest: "{digest}"}}\n'


def pack(pinned: dict[str, Any], to: Path) -> None:
    """Takes what `make images PUSH=..` wrote."""
    values = pinned_values((CHART / "values.yaml").read_text("utf-8"), pinned)
    with (
        to.open("wb") as file,
        gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path in sorted(path for path in CHART.rglob("*") if path.is_file()):
            name = path.relative_to(CHART)
            data = values.encode() if name == Path("values.yaml") else path.read_bytes()
            entry = tarfile.TarInfo(f"soliloquy/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def pinned_values(text: str, pinned: dict[str, Any]) -> str:
    text = _replaced(text, _REGISTRY, f'  imageRegistry: "{pinned["global"]["imageRegistry"]}"\n')
    for name, image in pinned["images"].items():
        text = _replaced(text, _IMAGE.format(name=name, digest=""), _IMAGE.format(name=name, digest=image["digest"]))
    return text


def _replaced(text: str, line: str, by: str) -> str:
    if text.count(line) != 1:
        raise SystemExit(f"values.yaml has no line {line.strip()!r}, in which a release pins an image")
    return text.replace(line, by)
