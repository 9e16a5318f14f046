"""Reads datasets from a folder, an object store or an Iceberg table, as conversations or as Arrow batches."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.folder import Folder
from soliloquy.dataset.layout import ACCEPTED, REJECTED, TABLES
from soliloquy.dataset.rows import REASONS, messages, recipe_of, rows
from soliloquy.dataset.selection import Filter, MissingDataset, NoDataset
from soliloquy.dataset.source import AFTER, Source
from soliloquy.dataset.timings import without_timings
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runtime.failure import one_line
from soliloquy.truth.locales import languages
from soliloquy.v1.conversation_pb2 import Conversation

__all__ = ["Dataset", "Filter", "MissingDataset", "NoDataset", "place_after"]
ROWS_AT_ONCE = 500


class Dataset:
    """The conversations of a dataset in the order of their run.

    A column is named by its path, without lists: `problem.topic`, `turns.student.text`, or `turns` for all below it.
    A place to continue `after` is a shard and a number of its rows, `accepted/00001.parquet:250`, or in a table the
    commits that are read and a number of rows of a bucket, `0-17/3:250`.
    """

    def __init__(self, folder: str | Path) -> None:
        """Raises NoDataset."""
        self.folder = str(folder)
        self._source = _source(self.folder)
        self.manifest = self._source.manifest

    def __iter__(self) -> Iterator[Conversation]:
        return self.conversations()

    def conversations(self, *, rejected: bool = False) -> Iterator[Conversation]:
        """Yields the conversations of the rows, then those still in the journals."""
        for batch in self.batches(rejected=rejected):
            yield from map(self._with_prompts, map(conversation_in, messages(batch)))
        kept = (one for one in self._source.unsharded() if bool(one.reasons) == rejected)
        for recipe, alike in groupby(kept, key=attrgetter("recipe")):
            while group := [one.conversation for one in islice(alike, ROWS_AT_ONCE)]:
                yield from map(self._with_prompts, _read(group, recipe))

    @functools.cached_property
    def recipe(self) -> str:
        """The recipe of the conversations, or of the first of them; the default one if there are none."""
        for rejected in (False, True):
            for batch in self.batches(["run"], rejected=rejected):
                return recipe_of(batch)
        return next((one.recipe for one in self._source.unsharded()), "") or DEFAULT

    @functools.cached_property
    def prompts(self) -> Mapping[str, str]:
        """The prompt files of a run that changed those of its recipe, all of them; empty for any other."""
        return self._source.prompts()

    def recipes(self, *, rejected: bool = False) -> list[str]:
        """Returns the recipes of the conversations; reads no rows but of shards that name no recipe."""
        return list(dict.fromkeys(self._source.recipes(_kind(rejected))))

    def count(self, *, rejected: bool = False) -> int:
        return self._source.count(_kind(rejected))

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
        rejected: bool = False,
        where: Filter = (),
        after: str | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yields a few hundred rows at a time: `columns` and those of `where`, or all columns except `without`.

        Rejected rows also have `reasons`. `place_after(batch)` is the place to continue after.
        """
        return self._source.batches(_kind(rejected), columns, without=without, where=where, after=after)

    def timings(self) -> Iterator[pa.RecordBatch]:
        """Yields the times of all conversations, accepted and rejected."""
        return self._source.timings()

    def placed(
        self, *, rejected: bool = False, after: str | None = None, last: str | None = None
    ) -> Iterator[tuple[str, Conversation]]:
        """Yields each conversation with the place to continue after it, up to the place `last` of an earlier read."""
        for batch in self._source.batches(_kind(rejected), after=after, last=last):
            name, _, end = place_after(batch).rpartition(":")
            first = int(end) - batch.num_rows + 1
            for row, message in enumerate(messages(batch), start=first):
                yield (place := f"{name}:{row}"), self._with_prompts(conversation_in(message))
                if place == last:
                    return

    def find(self, conversation_id: str, *, rejected: bool = False) -> Conversation:
        """Returns the conversation whose id begins so; raises NoDataset unless there is exactly one."""
        found = [one for one in self.conversations(rejected=rejected) if one.id.startswith(conversation_id)]
        if len(found) != 1:
            kind = "rejected" if rejected else "accepted"
            lists = f"soliloquy show {self.folder} --rejected" if rejected else f"soliloquy tail {self.folder}"
            raise NoDataset(
                f"{len(found)} {kind} conversations have an id that begins with {conversation_id!r}: {lists} lists them"
            )
        return found[0]

    def rejections(self) -> dict[str, list[str]]:
        """Maps the id of each rejected conversation to the reasons."""
        found: dict[str, list[str]] = {}
        for batch in self.batches(["id", REASONS.name], rejected=True):
            found.update(zip(batch["id"].to_pylist(), batch[REASONS.name].to_pylist(), strict=True))
        return found | {one.id: list(one.reasons) for one in self._source.unsharded() if one.reasons}

    def whole(self, conversation_id: str, *, rejected: bool = False) -> Conversation | None:
        """Returns the conversation with this id; reads nothing but the ids of the others."""
        for batch in self.batches(["id"], rejected=rejected):
            name, _, end = place_after(batch).rpartition(":")
            if (row := pc.index(batch["id"], conversation_id).as_py()) >= 0:
                before = int(end) - batch.num_rows + row
                return next(found for _, found in self.placed(rejected=rejected, after=f"{name}:{before}"))
        for kept in self._source.unsharded():
            if kept.id == conversation_id:
                return self._with_prompts(next(_read([kept.conversation], kept.recipe)))
        return None

    def _with_prompts(self, conversation: Conversation) -> Conversation:
        if self.prompts:
            conversation.run.prompts.update(self.prompts)
        return conversation


def _source(location: str) -> Source:
    if location.startswith(TABLES):
        # Imported here because only datasets in tables need it.
        from soliloquy.dataset.iceberg.reading import TableRows

        return TableRows(location)
    return Folder(location)


def _kind(rejected: bool) -> str:
    return REJECTED if rejected else ACCEPTED


def _read(unsharded: Sequence[bytes], recipe: str) -> Iterator[Conversation]:
    try:
        read = messages(without_timings(rows(unsharded, recipe)))
    except ValueError as error:
        raise NoDataset(f"a conversation of the journal cannot be read ({one_line(error)})") from error
    return map(conversation_in, read)


def conversation_in(serialised: bytes) -> Conversation:
    """Raises NoDataset for a language that nobody here reads."""
    conversation = Conversation.FromString(serialised)
    if (language := conversation.problem.language) and language not in languages():
        known = ", ".join(languages())
        raise NoDataset(f"{conversation.id[:80]!r} is in the language {language[:80]!r}: use one of en, {known}")
    return conversation


def place_after(batch: pa.RecordBatch) -> str:
    """Returns the place at which a batch ends, for `after` of a later read."""
    place: bytes = batch.schema.metadata[AFTER]
    return place.decode()
