"""The digests by which weights are known, and the base that an adapter's card names."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

CARD = "README.md"
# In the front matter of an adapter's card.
_BASE_DIGEST = re.compile(r"\A---\n(?:(?!---).*\n)*?base_model_digest:\s*[\"']?([0-9a-f]{64})\b")


def base_digest(folder: Path) -> str:
    """Of the weights and the tokenizer: what both an answer and an adapter depend on."""
    return digest_of([*sorted(folder.glob("*.safetensors")), folder / "tokenizer.json"])


def named_base(adapter: Path) -> str:
    """The digest of the base that an adapter was trained on; empty where its card does not say."""
    card = adapter / CARD
    named = _BASE_DIGEST.match(card.read_text("utf-8")) if card.is_file() else None
    return named[1] if named else ""


def digest_of(files: Sequence[Path]) -> str:
    """Of one file, its SHA-256; of several, that of their names and digests."""
    digests = {path.name: _sha256(path) for path in files}
    if len(digests) == 1:
        return digests.popitem()[1]
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
