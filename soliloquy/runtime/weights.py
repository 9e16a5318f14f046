"""Digests that identify weights, and the base model that an adapter's card names."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from soliloquy.runtime.regular_file import read_regular_text

CARD = "README.md"
ADAPTER_WEIGHTS, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"


def missing_from_base(folder: Path) -> list[str]:
    """Returns the files of a base model that a folder lacks."""
    missing = [name for name in ("config.json", "tokenizer.json") if not (folder / name).is_file()]
    return missing if any(folder.glob("*.safetensors")) else [*missing, "*.safetensors"]


def base_digest(folder: Path) -> str:
    """Hashes the weights and the tokenizer, on which both answers and adapters depend."""
    return digest_of([*sorted(folder.glob("*.safetensors")), folder / "tokenizer.json"])


def named_base(adapter: Path) -> str:
    """Returns the digest of the base model of an adapter; empty if its card does not name one."""
    return card_entry(adapter, "base_model_digest", "[0-9a-f]{64}")


def card_entry(adapter: Path, name: str, value: str) -> str:
    """Returns an entry of the front matter of an adapter's card; empty if there is none of this pattern."""
    card = adapter / CARD
    entry = rf"\A---\n(?:(?!---).*\n)*?{name}:\s*[\"']?({value})\b"
    found = re.match(entry, read_regular_text(card, errors="replace")) if card.is_file() else None
    return found[1] if found else ""


def digest_of(files: Sequence[Path]) -> str:
    """Returns the SHA-256 of one file, or of the names and digests of several."""
    digests = {path.name: _sha256(path) for path in files}
    if len(digests) == 1:
        return digests.popitem()[1]
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
