"""The prompts of a run that changed those of its recipe: all of them, as files of the dataset."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from soliloquy.dataset.layout import PROMPTS
from soliloquy.dataset.manifest import Shard
from soliloquy.dataset.storage import Storage


def write_prompts(storage: Storage, texts: Mapping[str, str]) -> list[Shard]:
    """Returns the files for the manifest."""
    return [_write(storage, f"{PROMPTS}/{file}", text.encode()) for file, text in sorted(texts.items())]


def read_prompts(storage: Storage, files: Iterable[Shard]) -> dict[str, str]:
    """Returns each file's text; raises FileNotFoundError."""
    return {file.name.rpartition("/")[2]: _read(storage, file.name).decode() for file in files}


def _write(storage: Storage, name: str, content: bytes) -> Shard:
    storage.write(name, content)
    return Shard(name=name, rows=0, bytes=len(content), sha256=sha256(content).hexdigest())


def _read(storage: Storage, name: str) -> bytes:
    content = storage.read(name)
    if content is None:
        raise FileNotFoundError(name)
    return content
