"""Pushes datasets to the Hugging Face hub and pulls them from there.

The hub holds the files of the dataset as they are, and the accepted conversations once more under `data/`, by split and
with flat columns, for its viewer and `load_dataset`.
"""

import logging
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, DatasetCard, HfApi
from huggingface_hub.errors import HfHubHTTPError

from soliloquy.dataset.card import CARD
from soliloquy.dataset.exports.decoding import dialogues
from soliloquy.dataset.exports.dialogue import PATHS, Dialogue
from soliloquy.dataset.exports.files import atomic_output
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.layout import KINDS, LISTS, PROMPTS, ShardLimits
from soliloquy.dataset.manifest import MANIFEST, lists_of, shards_of
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure, one_line

_URL = re.compile(r"hf://(?:datasets/)?([\w.-]+/[\w.-]+)")
_TYPE = "dataset"
# The folder and the configuration of the viewer's rows.
_DATA, _CONFIG = "data", "chat"
_FOLDERS = (*KINDS, PROMPTS, LISTS, _DATA)
_TEXTS = ("id", "recipe", "problem_id", "topic", "question", "solution", "ending", "resolution")
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
_SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), ("messages", pa.list_(_MESSAGE))])
_COLUMNS = [*(PATHS[name] for name in _TEXTS), "turns.student.text", "turns.tutor.text"]
_ADVICE = {
    401: "set HF_TOKEN to a token of huggingface.co/settings/tokens",
    403: "set HF_TOKEN to a token with write access to it",
    404: "there is no such dataset, or HF_TOKEN may not read it",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Pushed:
    url: str
    is_private: bool
    # False if the hub had all of it.
    is_changed: bool
    rows: Counter[str]


class Hub:
    """A dataset's repository on the hub that HF_ENDPOINT names; the token is that of HF_TOKEN."""

    def __init__(self, url: str) -> None:
        """Raises Failure."""
        named = _URL.fullmatch(url)
        if named is None:
            raise Failure(f"invalid dataset {url!r}: use hf://NAMESPACE/NAME")
        self._url, self._name = url, named[1]
        # It warns of an empty commit, and of a token that is not there.
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        # False, so that no token is read that somebody left on this machine.
        self._api = HfApi(token=os.environ.get("HF_TOKEN") or False)

    def push(self, dataset: Dataset, card: str, shares: Splits, *, public: bool) -> Pushed:
        """Uploads what changed in one commit; creates a private repository unless it is to be public."""
        _require_finished(dataset)
        with self._reporting():
            self._api.create_repo(self._name, private=not public, repo_type=_TYPE, exist_ok=True)
            before = self._api.dataset_info(self._name)
        if not (before.private or public):
            raise Failure(f"{self._url} is public: pass --public to publish the dataset there")
        shards, lists = shards_of(dataset.manifest, *KINDS, PROMPTS), lists_of(dataset.manifest)
        names = [*(shard.name for shard in shards), *(one.name for one in lists), MANIFEST]
        with tempfile.TemporaryDirectory() as scratch:
            rows = write_rows(dataset, Path(scratch), shares)
            files: dict[str, Path | bytes] = {name: Path(dataset.folder, name) for name in names}
            files |= {f"{_DATA}/{path.name}": path for path in sorted(Path(scratch).iterdir())}
            files[CARD] = with_config(card, list(rows)).encode()
            there = {one.rfilename for one in before.siblings or ()}
            gone = sorted(name for name in there - files.keys() if name.partition("/")[0] in _FOLDERS)
            removed = [CommitOperationDelete(name) for name in gone]
            added = [CommitOperationAdd(name, held) for name, held in files.items()]
            with self._reporting():
                commit = self._api.create_commit(
                    self._name, [*removed, *added], commit_message=f"{rows.total():,} conversations", repo_type=_TYPE
                )
        return Pushed(
            url=f"{self._api.endpoint}/datasets/{self._name}",
            is_private=bool(before.private),
            is_changed=commit.oid != before.sha,
            rows=rows,
        )

    def pull(self, out: Path) -> None:
        """Creates a folder with all files of the dataset."""
        with self._reporting():
            info = self._api.dataset_info(self._name)
            if MANIFEST not in {one.rfilename for one in info.siblings or ()}:
                raise Failure(f"{self._url} has no {MANIFEST}: pull takes only what soliloquy pushed")
        with atomic_output(out) as place:
            with self._reporting():
                self._api.snapshot_download(
                    self._name, repo_type=_TYPE, revision=info.sha, local_dir=place, ignore_patterns=".gitattributes"
                )
            shutil.rmtree(place / ".cache", ignore_errors=True)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turns the errors of the library, of its HTTP client and of its uploader into Failure."""
        try:
            yield
        except Failure:
            raise
        except HfHubHTTPError as error:
            status = error.response.status_code
            advice = _ADVICE.get(status, one_line(error))
            raise Failure(f"{self._api.endpoint} answered {status} for {self._url}: {advice}") from error
        except Exception as error:
            why = f"{self._api.endpoint} failed ({one_line(error)})"
            raise Failure(f"{self._url}: {why}: check the network and HF_ENDPOINT, then repeat the command") from error


def _require_finished(dataset: Dataset) -> None:
    if "run" not in dataset.manifest or "segments" in dataset.manifest["arrival"]:
        raise Failure(f"{dataset.folder} is not finished: run its command again to finish it")
    if not dataset.count():
        raise Failure(f"{dataset.folder} holds no accepted conversations to push")


def write_rows(dataset: Dataset, folder: Path, shares: Splits) -> Counter[str]:
    """Writes a split's rows as files of bounded size and counts them; equal rows make equal bytes."""
    held: dict[str, list[Dialogue]] = {part: [] for part in shares.of}
    written: Counter[str] = Counter()

    def flush(part: str) -> None:
        if rows := [_row(dialogue) for dialogue in held[part]]:
            path = folder / f"{part}-{written[part] // ShardLimits().rows:05}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, _SCHEMA), path, compression="zstd")
            written[part] += len(rows)
            held[part].clear()

    for batch in dataset.batches(_COLUMNS):
        for dialogue in dialogues(batch):
            part = shares.part(dialogue.about)
            held[part].append(dialogue)
            if len(held[part]) == ShardLimits().rows:
                flush(part)
    for part in held:
        flush(part)
    return written


def _row(dialogue: Dialogue) -> dict[str, object]:
    said = (pair for turn in dialogue.turns for pair in (("user", turn.student), ("assistant", turn.reply)))
    messages = [{"role": role, "content": text} for role, text in said if text is not None]
    return {name: getattr(dialogue, name) for name in _TEXTS} | {"messages": messages}


def with_config(card: str, parts: Sequence[str]) -> str:
    """Returns a card whose header names the rows of each part first."""
    described = DatasetCard(card)
    known = (one for one in described.data.get("configs") or () if one["config_name"] != _CONFIG)
    others = [{name: value for name, value in one.items() if name != "default"} for one in known]
    files = [{"split": part, "path": f"{_DATA}/{part}-*.parquet"} for part in parts]
    described.data["configs"] = [{"config_name": _CONFIG, "default": True, "data_files": files}, *others]
    return str(described)
