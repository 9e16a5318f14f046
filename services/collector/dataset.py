"""A finished run's files: the conversations in the order of the run, and the manifest that vouches for them."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from services.collector.journal import Journal

CONVERSATIONS = "conversations.jsonl"
REJECTED = "rejected.jsonl"
MANIFEST = "manifest.json"
FORMAT = 1


def write_dataset(folder: Path, journal: Journal, *, run: dict[str, Any], cost: dict[str, float]) -> dict[str, Any]:
    """Writes the dataset from its journal; the manifest comes last, so a folder with a manifest is complete."""
    digests = {
        CONVERSATIONS: _write_whole(folder / CONVERSATIONS, _records(journal, accepted=True)),
        REJECTED: _write_whole(folder / REJECTED, _records(journal, accepted=False)),
    }
    manifest = {
        "format": FORMAT,
        "run": run,
        "counts": journal.tally.as_json(),
        # Of the conversations that are here; what calls cost that came to nothing, or were repeated, the metrics say.
        "cost": cost,
        "sha256": digests,
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    _write_whole(folder / MANIFEST, iter([text.encode()]))
    return manifest


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a finished run; None where no run has finished."""
    path = folder / MANIFEST
    return json.loads(path.read_bytes()) if path.exists() else None


def _records(journal: Journal, *, accepted: bool) -> Iterator[bytes]:
    for entry in journal.entries():
        if entry.accepted == accepted:
            row = json.loads(journal.line(entry))
            record = row["record"] if accepted else row["record"] | {"faults": row["faults"]}
            yield json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _write_whole(path: Path, chunks: Iterator[bytes]) -> str:
    """Writes a file that appears whole or not at all; returns its digest."""
    digest = hashlib.sha256()
    unfinished = path.with_name(f".{path.name}.unfinished")
    with unfinished.open("wb") as file:
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    return digest.hexdigest()
