"""Rows as dialogues: each column is taken out of its structs and lists at once, and not row by row."""

import json
from collections.abc import Iterator
from itertools import accumulate, pairwise, repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from soliloquy.v1.conversation_pb2 import ErrorStrategy, Evaluation, Intent, StepState
from soliloquy.v1.sandbox_pb2 import Value

from services.dataset.exports.dialogue import Attempt, Dialogue, Exchange
from services.dataset.exports.output import written
from services.recipes.soliloquy.codes import EVALUATION_LETTERS, INTENTS, STATE_LETTERS, STRATEGIES
from services.runtime.values import shown

_INTENTS = {Intent.Name(intent): name for intent, name in INTENTS.items()}
_STRATEGIES = {ErrorStrategy.Name(strategy): name for strategy, name in STRATEGIES.items()}
_EVALUATIONS = {Evaluation.Name(evaluation): letter for evaluation, letter in EVALUATION_LETTERS.items()}
_STATES = {StepState.Name(state): letter for state, letter in STATE_LETTERS.items()}


def dialogues(batch: pa.RecordBatch) -> Iterator[Dialogue]:
    """One a row; what is not among the batch's columns is unset."""
    rows = pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)
    return map(
        Dialogue,
        _texts(rows, "id"),
        _texts(rows, "run", "recipe"),
        _texts(rows, "problem", "id"),
        _texts(rows, "problem", "topic"),
        _texts(rows, "problem", "question"),
        _texts(rows, "problem", "solution"),
        _texts(rows, "problem", "enrichment", "detailed_solution"),
        _texts(rows, "problem", "enrichment", "outline"),
        _texts(rows, "persona"),
        map(_ending, _texts(rows, "ending")),
        _lists(rows, "turns", made=_exchanges),
        _plain(rows, "problem", "answer", "value"),
        (steps or () for steps in _plain(rows, "problem", "steps")),
        (json.loads(extra) if extra else {} for extra in _texts(rows, "extra")),
    )


def _ending(name: str) -> str:
    return "" if name == "ENDING_UNSPECIFIED" else name.removeprefix("ENDING_").lower()


def _exchanges(turns: pa.Array) -> Iterator[Exchange]:
    return map(
        Exchange,
        _plain(turns, "student", "text"),
        map(_INTENTS.get, _plain(turns, "student", "intent")),
        map(_STRATEGIES.get, _plain(turns, "student", "strategy")),
        _plain(turns, "calculation", "description"),
        _lists(turns, "calculation", "attempts", made=_attempts),
        _texts(turns, "tutor", "thoughts"),
        (_EVALUATIONS.get(name, "") for name in _texts(turns, "tutor", "evaluation")),
        (number or 0 for number in _plain(turns, "tutor", "action")),
        (number or 0 for number in _plain(turns, "tutor", "step")),
        (_STATES.get(name, "") for name in _texts(turns, "tutor", "state")),
        _plain(turns, "tutor", "text"),
    )


def _attempts(attempts: pa.Array) -> Iterator[Attempt]:
    outputs = map(
        written,
        [status.removeprefix("STATUS_").lower() for status in _texts(attempts, "execution", "status")],
        _lists(attempts, "execution", "values", made=_values),
        _texts(attempts, "execution", "stdout"),
        _texts(attempts, "execution", "error"),
        (line or 0 for line in _plain(attempts, "execution", "error_line")),
    )
    return map(Attempt, _texts(attempts, "code"), _plain(attempts, "result_variables"), outputs)


def _values(named: pa.Array) -> Iterator[str]:
    """`name = value`, the value as Python would print it."""
    kinds = zip(
        (None if boolean is None else str(boolean) for boolean in _plain(named, "value", "boolean")),
        _plain(named, "value", "integer"),
        (None if real is None else repr(real) for real in _plain(named, "value", "real")),
        map(_complex, _plain(named, "value", "complex")),
        (None if text is None else repr(text) for text in _plain(named, "value", "text")),
        map(_items, _plain(named, "value", "items")),
        map(_entries, _plain(named, "value", "entries")),
        (None if name is None else f"<{name}>" for name in _plain(named, "value", "unserialisable")),
        strict=True,
    )
    for name, kind in zip(_texts(named, "name"), kinds, strict=True):
        yield f"{name} = {next((text for text in kind if text is not None), 'None')}"


def _complex(value: dict[str, float] | None) -> str | None:
    return None if value is None else repr(complex(value["real"], value["imaginary"]))


def _items(value: dict[str, list[bytes]] | None) -> str | None:
    return None if value is None else f"[{', '.join(map(_shown, value['items']))}]"


def _entries(value: dict[str, list[dict[str, bytes]]] | None) -> str | None:
    if value is None:
        return None
    return "{" + ", ".join(f"{_shown(entry['key'])}: {_shown(entry['value'])}" for entry in value["entries"]) + "}"


def _shown(serialised: bytes) -> str:
    return shown(Value.FromString(serialised))


def _lists(rows: pa.Array, *path: str, made: Any) -> Iterator[Any]:
    """The lists of a column, each as the slice of all that was made of what they hold."""
    lists = _below(rows, path)
    if lists is None:
        return repeat((), len(rows))
    ends = list(accumulate(pc.fill_null(pc.list_value_length(lists), 0).to_pylist(), initial=0))
    everything = list(made(pc.list_flatten(lists)))
    return (everything[start:end] for start, end in pairwise(ends))


def _texts(rows: pa.Array, *path: str) -> list[str]:
    return [text or "" for text in _plain(rows, *path)]


def _plain(rows: pa.Array, *path: str) -> list[Any]:
    """A column's values; None where what it is part of is unset."""
    column = _below(rows, path)
    return [None] * len(rows) if column is None else column.to_pylist()


def _below(rows: pa.Array, path: tuple[str, ...]) -> pa.Array | None:
    for name in path:
        if rows.type.get_field_index(name) < 0:
            return None
        rows = pc.struct_field(rows, name)
    return rows
