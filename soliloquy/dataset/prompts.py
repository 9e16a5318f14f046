"""The prompts of a run that changed those of its recipe: all of them, as files of the dataset."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from soliloquy.dataset.layout import PROMPTS
from soliloquy.dataset.manifest import Shard
from soliloquy.dataset.storage import Storage


def write_prompts(storage: Storage, texts: Mapping[str, str]) -> list[Shard]:
    """Returns the files for the manifest."""
    files = []
    for file, text in sorted(texts.items()):
        name, content = f"{PROMPTS}/{file}", text.encode()
        storage.write(name, content)
        files.append(Shard(name=name, rows=0, bytes=len(content), sha256=sha256(content).hexdigest()))
    return files


def read_prompts(storage: Storage, files: Iterable[Shard]) -> dict[str, str]:
    """Returns each file's text; raises FileNotFoundError."""
    texts = {}
    for file in files:
        if (content := storage.read(file.name)) is None:
            raise FileNotFoundError(file.name)
        texts[file.name.rpartition("/")[2]] = content.decode()
    return texts
