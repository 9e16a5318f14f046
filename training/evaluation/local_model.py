"""Models that measure texts: loaded from a folder, and from nowhere else."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any


class NoLocalModel(Exception):
    """A folder holds no such model that can be run here; the message says why."""


def tokenizer_and_model(folder: Path, kind: str, auto: str) -> tuple[Any, Any]:
    """By the name of the class in transformers that loads such a model; raises NoLocalModel."""
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise NoLocalModel("torch and transformers are not installed: pip install 'soliloquy[serve]'")
    if not (folder / "config.json").is_file():
        raise NoLocalModel(f"{folder} holds no {kind}: it lacks config.json")
    import transformers

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        return tokenizer, getattr(transformers, auto).from_pretrained(folder, local_files_only=True).eval()
    except (OSError, ValueError) as error:
        raise NoLocalModel(f"{folder} holds no {kind} ({' '.join(str(error).split())})") from error
