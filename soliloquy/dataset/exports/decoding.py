"""Decodes rows into dialogues, a column at a time instead of row by row."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import accumulate, pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.exports.dialogue import PATHS, Attempt, Dialogue, Exchange
from soliloquy.dataset.exports.output import written
from soliloquy.dataset.rows import recipe_of
from soliloquy.dataset.values import shown_values
from soliloquy.recipes.codes import EVALUATION_LETTERS, INTENTS
from soliloquy.recipes.labels import Labels, labels_of, row_path, value_prefix
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Evaluation, Intent

# The first fields of a Dialogue.
_TEXTS = Dialogue._fields[: Dialogue._fields.index("ending")]
_INTENTS = {Intent.Name(intent): name for intent, name in INTENTS.items()}
_EVALUATIONS = {Evaluation.Name(evaluation): letter for evaluation, letter in EVALUATION_LETTERS.items()}


def dialogues(batch: pa.RecordBatch, prompts: Mapping[str, str] = {}) -> Iterator[Dialogue]:
    """Yields a dialogue for each row; fields without a column in the batch stay unset."""
    labels = labels_of(recipe_of(batch))
    rows = pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)
    return map(
        Dialogue,
        *(_texts(rows, *PATHS[name].split(".")) for name in _TEXTS),
        _coded(rows, "ending", word=_set("ENDING_")),
        _lists(rows, "turns", decode=partial(_exchanges, labels=labels)),
        _plain(rows, "problem", "answer", "value"),
        (steps or () for steps in _plain(rows, "problem", "steps")),
        map(_extra, _texts(rows, "extra")),
        _coded(rows, "resolution", word=_set("RESOLUTION_")),
        map(bool, _plain(rows, "person")),
        _labels(rows, labels, "conversation", "problem", "enrichment"),
        repeat(prompts),
    )


def _extra(text: str) -> dict[str, Any]:
    try:
        extra = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise Failure(f"`extra` of a conversation is not JSON ({error}): it was not written by import") from error
    if not isinstance(extra, dict):
        raise Failure("`extra` of a conversation is not an object of JSON: it was not written by import")
    return extra


def _set(prefix: str, between: str = "_") -> Callable[[str], str]:
    """Returns a function from an enum's name to its value in lower case, or to an empty string if it is unset."""
    return lambda name: (
        "" if name == f"{prefix}UNSPECIFIED" else name.removeprefix(prefix).lower().replace("_", between)
    )


def _exchanges(turns: pa.Array, labels: Labels) -> Iterator[Exchange]:
    parts = zip(
        _plain(turns, "student", "text"),
        _coded(turns, "student", "intent", word=_INTENTS.get),
        _plain(turns, "calculation", "description"),
        _lists(turns, "calculation", "attempts", decode=_attempts),
        _texts(turns, "tutor", "thoughts"),
        _coded(turns, "tutor", "evaluation", word=lambda name: _EVALUATIONS.get(name, "")),
        _plain(turns, "tutor", "text"),
        _labels(turns, labels, "turn", "student", "tutor"),
        strict=True,
    )
    # Three times as fast as the tuple's own constructor, which looks at each part.
    return map(partial(tuple.__new__, Exchange), parts)


def _labels(rows: pa.Array, labels: Labels, *places: str) -> Iterator[Mapping[str, Any]]:
    """Yields the labels of these places that are set, by name; enums in words."""
    # Few of the possible combinations occur: `combined` numbers the one of each row.
    found: list[dict[str, Any]] = [{}]
    combined = np.zeros(len(rows), np.int64)
    for name, field in labels.values():
        column = _below(rows, tuple(row_path(name).removeprefix("turns.").split(".")))
        if name.partition(".")[0] not in places or column is None:
            continue
        coded = column.dictionary_encode(null_encoding="encode")
        values = coded.dictionary.to_pylist()
        if field.enum_type:
            values = [_set(value_prefix(field), " ")(value or "") for value in values]
        numbers, combined = np.unique(combined * len(values) + np.asarray(coded.indices), return_inverse=True)
        pairs = (divmod(number, len(values)) for number in numbers.tolist())
        found = [found[before] | ({name: values[at]} if values[at] else {}) for before, at in pairs]
    return (found[number] for number in combined.tolist())


def _attempts(attempts: pa.Array) -> Iterator[Attempt]:
    outputs = map(
        written,
        _coded(attempts, "execution", "status", word=_set("STATUS_")),
        _lists(attempts, "execution", "values", decode=_values),
        _texts(attempts, "execution", "stdout"),
        _texts(attempts, "execution", "error"),
        _plain(attempts, "execution", "error_line", unset=0),
    )
    return map(Attempt, _texts(attempts, "code"), _plain(attempts, "result_variables"), outputs)


def _values(named: pa.Array) -> list[str]:
    return [
        f"{name} = {value}"
        for name, value in zip(_texts(named, "name"), shown_values(pc.struct_field(named, "value")), strict=True)
    ]


def _lists(rows: pa.Array, *path: str, decode: Any) -> Iterator[Any]:
    """Decodes the items of all lists at once, then yields each list as a slice of them."""
    lists = _below(rows, path)
    if lists is None:
        return repeat((), len(rows))
    ends = list(accumulate(pc.fill_null(pc.list_value_length(lists), 0).to_pylist(), initial=0))
    everything = list(decode(pc.list_flatten(lists)))
    return (everything[start:end] if start < end else () for start, end in pairwise(ends))


def _coded(rows: pa.Array, *path: str, word: Callable[[str], Any]) -> list[Any]:
    """Translates an enum column; `word` is called once for each distinct value."""
    column = _below(rows, path)
    if column is None:
        return [word("")] * len(rows)
    coded = pc.fill_null(column, "").dictionary_encode()
    words = [word(name) for name in coded.dictionary.to_pylist()]
    return [words[place] for place in np.asarray(coded.indices).tolist()]


def _plain(rows: pa.Array, *path: str, unset: Any = None) -> list[Any]:
    """Returns the column's values; `unset` in an unset message."""
    column = _below(rows, path)
    if column is None:
        return [unset] * len(rows)
    filled = column if unset is None else pc.fill_null(column, unset)
    # Three times as fast as to_pylist, which creates an Arrow scalar for each value.
    return list(filled.to_numpy(zero_copy_only=False) if pa.types.is_string(filled.type) else filled.to_pylist())


_texts = partial(_plain, unset="")


def _below(rows: pa.Array, path: tuple[str, ...]) -> pa.Array | None:
    for name in path:
        if rows.type.get_field_index(name) < 0:
            return None
        rows = pc.struct_field(rows, name)
    return rows
