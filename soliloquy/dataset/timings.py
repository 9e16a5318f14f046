"""Separates the times of conversations, which differ from run to run, from all that a run repeats."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.columns import below
from soliloquy.dataset.rows import TIMINGS, serialised_timings
from soliloquy.recipes.calls import calls_of
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Timings

# Fields with their subfields, or with their unset value.
_Fields = Mapping[str, Any]
_CALLS: _Fields = {"calls": {"seconds": 0}}
# A program whose sandbox dies runs again in another lane, and comes to the same there.
_OF_EXECUTIONS: _Fields = {"seconds": 0, "waited_seconds": 0, "runsc_version": "", "lane": "LANE_UNSPECIFIED"}
_EXECUTIONS: _Fields = {"execution": _OF_EXECUTIONS}
_CALCULATIONS: _Fields = {"calculation": {"attempts": _EXECUTIONS, "opinions": _EXECUTIONS}}
_TURNS: _Fields = {"rejected": _CALCULATIONS, **_CALCULATIONS, **_CALLS}
_VARYING: _Fields = {
    # How fast the run was executed, and which execution it was.
    "run": {"in_flight": 0, "growing": ""},
    "problem": {"enrichment": _CALLS},
    "turns": _TURNS,
    "rewinds": {"turns": _TURNS},
}


def without_timings(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Clears every field that may differ between two executions of the same run."""
    columns = [
        _cleared(batch[name], _VARYING[name]) if name in _VARYING else batch[name] for name in batch.schema.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def timings(batch: pa.RecordBatch, at: Sequence[float]) -> pa.RecordBatch:
    """Returns a row of times for each conversation; `at` is when each was collected."""
    turns = batch["turns"]
    ends, turns = _ends(turns), turns.flatten()
    attempts = pc.struct_field(turns, ["calculation", "attempts"])
    columns = [
        batch["id"],
        pa.array(at, pa.float64()),
        _listed("executions", _ends(attempts)[ends], _executions(turns, attempts)),
        _listed("calls", *_calls(batch)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=TIMINGS)


def timings_by_id(batches: Iterable[pa.RecordBatch]) -> dict[str, Timings]:
    """Returns the times of each conversation by its id."""
    read = (Timings.FromString(row) for batch in batches for row in serialised_timings(batch))
    return {one.id: one for one in read}


def timed(conversation: Conversation, times: Timings | None) -> Conversation:
    """Puts the times back that `without_timings` cleared."""
    if times is None:
        return conversation
    turns = {turn.number: turn for turn in conversation.turns}
    for one in times.executions:
        attempt = turns[one.turn].calculation.attempts[one.attempt - 1]
        if attempt.HasField("execution"):
            for name in _OF_EXECUTIONS:
                setattr(attempt.execution, name, getattr(one, name))
    # A dataset of an earlier version lacks the times of turns that were taken back.
    for call, kept in zip(calls_of(conversation), times.calls, strict=False):
        call.seconds = kept.seconds
    return conversation


def _executions(turns: pa.Array, attempts: pa.Array) -> dict[str, Any]:
    ends = _ends(attempts)
    executions = below(attempts.flatten(), "execution")
    # A forged event may hold an attempt that was never executed.
    columns = {name: pc.fill_null(below(executions, name), unset) for name, unset in _OF_EXECUTIONS.items()}
    attempt = np.arange(1, ends[-1] + 1) - np.repeat(ends[:-1], np.diff(ends))
    return columns | {"turn": np.repeat(below(turns, "number"), np.diff(ends)), "attempt": attempt}


def _calls(batch: pa.RecordBatch) -> tuple[Any, dict[str, Any]]:
    """Joins the calls of each conversation's problem with those of its turns, the last of them turns taken back."""
    turns, rewinds = batch["turns"], batch["rewinds"]
    taken_back = pc.struct_field(rewinds.flatten(), "turns")
    planned = pc.struct_field(batch["problem"], ["enrichment", "calls"])
    rows = np.arange(len(batch))
    # With the turn and the row of each list.
    parts = (
        (planned, np.zeros(len(batch), np.int32), rows),
        _of_turns(turns, rows),
        _of_turns(taken_back, _parents(rewinds)),
    )
    places = np.concatenate([of[_parents(calls)] for calls, _, of in parts])
    order = np.argsort(places, kind="stable")
    columns = {"turn": pa.array(np.concatenate([numbers[_parents(calls)] for calls, numbers, _ in parts]))}
    for name in ("role", "seconds"):
        columns[name] = pa.concat_arrays([below(calls.flatten(), name) for calls, *_ in parts])
    ends = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(batch)))])
    return ends, {name: column.take(pa.array(order)) for name, column in columns.items()}


def _of_turns(turns: pa.Array, rows: Any) -> tuple[pa.Array, Any, Any]:
    """Returns the calls of each turn with its number and row; `rows` has the row of each list of turns."""
    each = turns.flatten()
    return pc.struct_field(each, "calls"), np.asarray(below(each, "number")), rows[_parents(turns)]


def _parents(lists: pa.Array) -> Any:
    """Returns the place of each value's list."""
    return np.asarray(pc.list_parent_indices(lists))


def _listed(name: str, ends: Any, columns: Mapping[str, Any]) -> pa.Array:
    kind = TIMINGS.field(name).type
    fields = list(kind.value_type)
    values = [pc.cast(columns[field.name], field.type) for field in fields]
    return pa.ListArray.from_arrays(pc.cast(ends, pa.int32()), pa.StructArray.from_arrays(values, fields=fields), kind)


def _ends(lists: pa.Array) -> Any:
    """Returns the offsets of lists among their flattened values, beginning with 0."""
    return np.concatenate([[0], np.cumsum(pc.list_value_length(lists).fill_null(0))])


def _cleared(array: pa.Array, fields: Any) -> pa.Array:
    if pa.types.is_list(array.type):
        return pa.ListArray.from_arrays(array.offsets, _cleared(array.values, fields), array.type, mask=array.is_null())
    if pa.types.is_struct(array.type):
        kinds = list(array.type)
        left = [
            _cleared(array.field(kind.name), fields[kind.name]) if kind.name in fields else array.field(kind.name)
            for kind in kinds
        ]
        return pa.StructArray.from_arrays(left, fields=kinds, mask=array.is_null())
    return pc.if_else(array.is_valid(), pa.scalar(fields, array.type), array)
