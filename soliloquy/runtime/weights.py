"""Digests that identify weights, and the base model that an adapter's card names."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

CARD = "README.md"
# Matches the front matter of an adapter's card.
_BASE_DIGEST = re.compile(r"\A---\n(?:(?!---).*\n)*?base_model_digest:\s*[\"']?([0-9a-f]{64})\b")


def base_digest(folder: Path) -> str:
    """Hashes the weights and the tokenizer, on which both answers and adapters depend."""
    return digest_of([*sorted(folder.glob("*.safetensors")), folder / "tokenizer.json"])


def named_base(adapter: Path) -> str:
    """Returns the digest of the base model of an adapter; empty if its card does not name one."""
    card = adapter / CARD
    named = _BASE_DIGEST.match(card.read_text("utf-8")) if card.is_file() else None
    return named[1] if named else ""


def digest_of(files: Sequence[Path]) -> str:
    """Returns the SHA-256 of one file, or of the names and digests of several."""
    digests = {path.name: _sha256(path) for path in files}
    if len(digests) == 1:
        return digests.popitem()[1]
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
