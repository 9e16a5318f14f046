"""Reads and writes the manifest, which decides what a dataset holds: a shard that it does not name does not count."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from soliloquy.dataset.layout import ACCEPTED, KINDS, LISTS, PROMPTS, REJECTED
from soliloquy.dataset.storage import Storage, StorageUnavailable
from soliloquy.recipes.labels import labels_of
from soliloquy.runtime.distribution import installed_version
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import parsed_json
from soliloquy.v1 import conversation_pb2, dataset_pb2, runs_pb2, sandbox_pb2
from soliloquy.v1.runs_pb2 import Run

MANIFEST = "manifest.json"
FORMAT = 2
# A format with lists of shards, which datasets of few shards do without.
LISTED_FORMAT = 3
# The options of `soliloquy generate`, in a dataset that it made.
OPTIONS = "options"
# Shards of a list. A manifest is written at each shard, and a list once.
LISTED = 1000
_PARTS = {"format": int, "run": dict, "counts": dict, "cost": dict, "arrival": dict, "shards": list}
# The settings of a run that readers use; the others they print.
_OF_RUNS = {
    "recipe": str,
    "conversations": int,
    "seed": int,
    "max_turns": int,
    "max_attempts": int,
    "prompts_sha256": dict,
    "protos_sha256": (dict, str),
    "imported": dict,
    "curated": dict,
    "frozen": dict,
    "annotated": list,
}
# A folder and a file in it, so that no name leads out of the dataset.
_NAME = re.compile(rf"({'|'.join((*KINDS, PROMPTS))})/\w[\w.-]*", re.ASCII)
_LIST_NAME = re.compile(rf"{LISTS}/\d{{5,}}-[\da-f]{{8}}\.json", re.ASCII)
_CONTRACT = (runs_pb2, sandbox_pb2, conversation_pb2, dataset_pb2)


class UnreadableManifest(Failure):
    """The manifest is damaged, or of another format; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """One file of rows, or of a prompt without any, as it was written."""

    name: str
    rows: int
    bytes: int
    sha256: str

    def __post_init__(self) -> None:
        """Raises ValueError for a name that leads elsewhere, and TypeError."""
        _require(self.name, str, "a shard's name")
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name[:100]!r} is not the name of a shard, such as accepted/00000.parquet")
        _require(self.rows, int, f"the rows of {self.name}")
        _require(self.bytes, int, f"the bytes of {self.name}")
        _require(self.sha256, str, f"the sha256 of {self.name}")

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardList:
    """A file that names the next shards of a dataset, written once."""

    name: str
    bytes: int
    sha256: str


def read_manifest(storage: Storage) -> dict[str, Any] | None:
    """Returns None if there is no manifest."""
    if storage.folder and storage.folder.is_file():
        raise UnreadableManifest(f"{storage} is a file: use the folder of a dataset")
    try:
        text = storage.read(MANIFEST)
    except StorageUnavailable:
        raise
    except OSError as error:
        raise UnreadableManifest(f"{storage}/{MANIFEST} cannot be read: {error.strerror}") from error
    if text is None:
        return None
    try:
        manifest = parsed_json(text)
        _require(manifest, dict, "it")
        version_read = manifest["format"]
        if version_read in (FORMAT, LISTED_FORMAT):
            parts = {name: _require(manifest[name], kind, name) for name, kind in _PARTS.items()}
            if OPTIONS in manifest:
                parts[OPTIONS] = _require(manifest[OPTIONS], dict, OPTIONS)
            if version_read == LISTED_FORMAT:
                parts["lists"] = _require(manifest["lists"], list, "lists")
                parts["shards"] = [*_listed(storage, lists_of(parts)), *parts["shards"]]
            for name, kind in _OF_RUNS.items():
                _require(parts["run"].get(name, kind() if isinstance(kind, type) else ""), kind, name)
            _require(parts["arrival"].get("segments", 0), int, "segments")
            forgotten_in(parts)
            services_in(parts)
            shards_of(parts)
            return parts
    except (ValueError, TypeError, KeyError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise UnreadableManifest(f"{storage}/{MANIFEST} cannot be read as the manifest of a dataset ({why})") from error
    if version_read == 1:
        raise UnreadableManifest(
            f"{storage} holds a dataset of format 1 (conversations.jsonl), which this version cannot read"
        )
    reads = f"formats {FORMAT} and {LISTED_FORMAT}"
    raise UnreadableManifest(
        f"{storage}/{MANIFEST} has format {version_read!r}; this version reads {reads}: update soliloquy"
    )


def write_manifest(storage: Storage, manifest: dict[str, Any], shards: Sequence[Shard]) -> None:
    """Writes the manifest last: from then on exactly these shards count.

    The manifest keeps the lists that are written, which the next one with more shards names again.
    """
    lists = list(lists_of(manifest))
    while len(rest := shards[len(lists) * LISTED :]) >= LISTED:
        content = _as_json(rest[:LISTED])
        digest = sha256(content).hexdigest()
        # Named by what it holds, so that none changes under a reader.
        name = f"{LISTS}/{len(lists):05}-{digest[:8]}.json"
        storage.write(name, content)
        lists.append(ShardList(name=name, bytes=len(content), sha256=digest))
    if lists:
        manifest["lists"] = [asdict(one) for one in lists]
    written = {"format": LISTED_FORMAT if lists else FORMAT, **manifest, "shards": rest}
    storage.write(MANIFEST, _as_json(written))


def _as_json(content: Any) -> bytes:
    # The encoder of the standard library would take most of the time that small shards take.
    return to_json(content, indent=2) + b"\n"


def lists_of(manifest: dict[str, Any]) -> list[ShardList]:
    return [ShardList(**one) for one in manifest.get("lists", ())]


def _listed(storage: Storage, lists: Iterable[ShardList]) -> Iterator[dict[str, Any]]:
    """Yields the shards of these lists; raises ValueError for a list that is not as it was written."""
    for one in lists:
        content = storage.read(one.name) if _LIST_NAME.fullmatch(one.name) else None
        if content is None or sha256(content).hexdigest() != one.sha256:
            raise ValueError(f"{one.name} is {'missing' if content is None else 'damaged'}")
        yield from json.loads(content)


def shards_of(manifest: dict[str, Any], *kinds: str) -> list[Shard]:
    """Returns the shards of these kinds, in the order of their rows."""
    shards = [Shard(**shard) for shard in manifest["shards"]]
    return [shard for shard in shards if shard.kind in kinds]


def forgotten_in(manifest: dict[str, Any]) -> list[str]:
    """Returns the ids of conversations that were removed for good."""
    ids: list[str] = _require(manifest["arrival"].get("forgotten", []), list, "forgotten")
    return [_require(one, str, "a forgotten id") for one in ids]


def services_in(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of the services that touched its conversations."""
    rows: list[dict[str, Any]] = _require(manifest["arrival"].get("services", []), list, "services")
    for row in rows:
        _require(row, dict, "a service")
        _require(row["digest"], str, "the digest of a service")
        _require(row["conversations"], int, "the conversations of a service")
    return rows


def first_missing(storage: Storage, shards: Sequence[Shard]) -> str:
    """Names the first shard that the storage does not list; empty if it lists all."""
    listed = {name for kind in {shard.kind for shard in shards} for name in storage.names(kind)}
    return next((shard.name for shard in shards if shard.name not in listed), "")


def conversations_of(manifest: dict[str, Any]) -> int:
    return sum(shard.rows for shard in shards_of(manifest, ACCEPTED, REJECTED))


def _require(value: Any, kind: Any, name: str) -> Any:
    """Returns the value; raises TypeError if it is of another kind."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise TypeError(f"{name} is {json.dumps(value)[:40]}")
    return value


def versions(recipe: str = "") -> dict[str, Any]:
    """Returns the version of the code, and the hashes of the contract and the labels that a dataset is written with."""
    labels = labels_of(recipe).files() if recipe else ()
    return {
        "soliloquy": installed_version(),
        "protos_sha256": {
            file.name.rpartition("/")[2]: sha256(file.serialized_pb).hexdigest()
            for file in (*(module.DESCRIPTOR for module in _CONTRACT), *labels)
        },
    }


def identity(run: Run) -> dict[str, Any]:
    """Describes a run of the gateway, and the version that writes its dataset."""
    # Imported here because a reader of manifests needs no recipe.
    from soliloquy.recipes.recipe import find

    return {
        "run": run.id,
        "growing": run.growing,
        "recipe": run.recipe,
        "seed": run.seed,
        "max_turns": run.max_turns,
        "max_attempts": run.max_attempts,
        "enrich": run.enrich,
        "classifiers_sha256": run.classifiers,
        **({"language": run.language} if run.language else {}),
        "prompts_sha256": find(run.recipe).fingerprints(run.prompts),
        **versions(run.recipe),
    }
