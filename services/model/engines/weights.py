"""The folders that weights come in: what must be there, and the digests by which they are known."""

import hashlib
import json
import re
from pathlib import Path

from soliloquy.v1.model_pb2 import Adapter

from services.model.engines.engine import MissingWeights, WrongBase

ADAPTER_WEIGHTS = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
# In the front matter of an adapter's card, README.md.
_BASE_DIGEST = re.compile(r"\A---\n(?:(?!---).*\n)*?base_model_digest:\s*[\"']?([0-9a-f]{64})\b")
_NEEDED = ("config.json", "tokenizer.json")


def base_digest(folder: Path) -> str:
    """Of the weights and the tokenizer: what both an answer and an adapter depend on."""
    return _digest([*sorted(folder.glob("*.safetensors")), folder / "tokenizer.json"])


def check_base(folder: Path) -> None:
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if not any(folder.glob("*.safetensors")):
        missing.append("*.safetensors")
    if missing:
        raise MissingWeights(f"{folder} is no model: it lacks {', '.join(missing)}; name the folder of one")


def read_adapter(asked: Adapter) -> Adapter:
    """The adapter that was asked for as its folder has it; where it was named by its digest, it must have that."""
    folder = Path(asked.path)
    missing = [name for name in (ADAPTER_WEIGHTS, ADAPTER_CONFIG) if not (folder / name).is_file()]
    if missing:
        raise MissingWeights(f"{folder} is no adapter: it lacks {', '.join(missing)}; name the folder of one")
    digest = _digest([folder / ADAPTER_WEIGHTS])
    if asked.digest not in ("", digest):
        raise MissingWeights(
            f"the weights in {folder} are {digest}, not {asked.digest}: name the folder that has those"
        )
    return Adapter(
        name=asked.name, path=asked.path, digest=digest, base_digest=asked.base_digest or _named_base(folder)
    )


def check_fits(adapter: Adapter, base: str, model: Path) -> None:
    if adapter.base_digest not in ("", base):
        raise WrongBase(
            f"adapter {adapter.name!r} was trained on the base {adapter.base_digest[:12]}, and {model.name} is "
            f"{base[:12]}: serve that base, or train the adapter on this one"
        )


def _named_base(folder: Path) -> str:
    card = folder / "README.md"
    named = _BASE_DIGEST.match(card.read_text("utf-8")) if card.is_file() else None
    return named[1] if named else ""


def _digest(files: list[Path]) -> str:
    """Of one file, its SHA-256; of several, that of their names and digests."""
    digests = {path.name: _sha256(path) for path in files}
    if len(digests) == 1:
        return digests.popitem()[1]
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
