"""Rows as dialogues: each column is taken out of its structs and lists at once, and not row by row."""

import json
from collections.abc import Iterator
from itertools import accumulate, pairwise, repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from soliloquy.v1.conversation_pb2 import ErrorStrategy, Evaluation, Intent, StepState

from services.dataset.exports.dialogue import Attempt, Dialogue, Exchange
from services.dataset.exports.output import written
from services.dataset.values import shown_values
from services.recipes.codes import EVALUATION_LETTERS, INTENTS, STATE_LETTERS, STRATEGIES

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
        (_set(name, "ENDING_") for name in _texts(rows, "ending")),
        _lists(rows, "turns", made=_exchanges),
        _plain(rows, "problem", "answer", "value"),
        (steps or () for steps in _plain(rows, "problem", "steps")),
        (json.loads(extra) if extra else {} for extra in _texts(rows, "extra")),
        _texts(rows, "student_name"),
        _texts(rows, "problem", "enrichment", "confusion", "solution"),
        _texts(rows, "problem", "enrichment", "confusion", "description"),
        (_set(name, "RESOLUTION_") for name in _texts(rows, "resolution")),
        (number or 0 for number in _plain(rows, "typical_confusion")),
        (number or 0 for number in _plain(rows, "typical_interactions")),
        map(bool, _plain(rows, "person")),
    )


def _set(name: str, prefix: str) -> str:
    """An enum's value in lower case; empty where it is unset."""
    return "" if name == f"{prefix}UNSPECIFIED" else name.removeprefix(prefix).lower()


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
        (_set(name, "MOVE_") for name in _texts(turns, "tutor", "move")),
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


def _values(named: pa.Array) -> list[str]:
    return [
        f"{name} = {value}"
        for name, value in zip(_texts(named, "name"), shown_values(pc.struct_field(named, "value")), strict=True)
    ]


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
    if column is None:
        return [None] * len(rows)
    # Three times as fast as to_pylist, which makes an object of Arrow's own for each value.
    texts = pa.types.is_string(column.type)
    return list(column.to_numpy(zero_copy_only=False)) if texts else list(column.to_pylist())


def _below(rows: pa.Array, path: tuple[str, ...]) -> pa.Array | None:
    for name in path:
        if rows.type.get_field_index(name) < 0:
            return None
        rows = pc.struct_field(rows, name)
    return rows
