"""Digests that identify weights, and the base model that an adapter's card names."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_json, read_regular, read_regular_text, require_regular

CARD = "README.md"
ADAPTER_WEIGHTS, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"


# Lets transformers read nothing but the files of a folder, and run no code from it.
FOLDER_ONLY = {"local_files_only": True, "trust_remote_code": False}
GGUF_ADVICE = "serve a GGUF file with llama.cpp, and ask that with --model openai"
# Python parses these files: the index of the largest models' weights has 10 MB, and the largest tokenizers have 40.
MOST_JSON_BYTES, _MOST_BYTES = 24 * 1024**2, 128 * 1024**2
_TEXTS = {".json", ".jinja", ".txt", ".model"}


def flaw_of_base(folder: Path) -> str:
    """Returns why a folder holds no base model; empty if it holds one."""
    missing = [name for name in ("config.json", "tokenizer.json") if not (folder / name).is_file()]
    if missing := missing if any(folder.glob("*.safetensors")) else [*missing, "*.safetensors"]:
        advice = [GGUF_ADVICE] if any(folder.glob("*.gguf")) else []
        return "; ".join([f"missing {', '.join(missing)}", *advice])
    return flaw_of_files(folder)


def flaw_of_files(folder: Path) -> str:
    """Returns which of a model's files its library would read without a limit, or never to the end; empty if none."""
    for path in sorted(folder.iterdir()):
        try:
            if path.suffix == ".json" and path.name != "tokenizer.json":
                dict(read_json(path, MOST_JSON_BYTES))
            elif path.suffix in _TEXTS:
                read_regular(path, _MOST_BYTES)
            elif path.suffix == ".safetensors":
                require_regular(path)
        except (OSError, ValueError, TypeError) as error:
            return f"{path.name} cannot be read ({error})"
    return ""


def is_encoder_decoder(folder: Path) -> bool:
    """Whether a folder holds a model that reads with one half and writes with the other, as BART and T5 do."""
    return (folder / "config.json").is_file() and bool(_config(folder).get("is_encoder_decoder"))


def positions(folder: Path) -> int:
    """Returns how many tokens a model can tell apart by their place; 0 if its config sets no bound."""
    return int(_config(folder).get("max_position_embeddings") or 0)


def encoder_decoder_text(messages: Iterable[str]) -> str:
    """Returns the plain text of a prompt, for a model that knows no roles; the same in training and in use."""
    return "\n\n".join(messages)


def _config(folder: Path) -> dict[str, Any]:
    try:
        return dict(read_json(folder / "config.json", MOST_JSON_BYTES))
    except (OSError, ValueError, TypeError) as error:
        raise Failure(f"{folder} holds no model: config.json cannot be read ({error})") from error


def lora_ranks(folder: Path) -> set[int]:
    """Returns the ranks of an adapter's matrices; raises ValueError or OSError if it describes none."""
    config = read_json(folder / ADAPTER_CONFIG)
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise ValueError(f"{ADAPTER_CONFIG} does not describe LoRA matrices")
    ranks = {config.get("r"), *(config.get("rank_pattern") or {}).values()}
    if not all(isinstance(rank, int) and rank > 0 for rank in ranks):
        raise ValueError(f"{ADAPTER_CONFIG}: r is no positive number")
    return ranks


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
    try:
        found = re.match(entry, read_regular_text(card, errors="replace")) if card.is_file() else None
    except OSError as error:
        raise Failure(f"{card} cannot be read ({error})") from error
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
