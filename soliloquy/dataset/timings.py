"""Separates the times of conversations, which differ from run to run, from all that a run repeats."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.rows import serialised_timings, timing_rows
from soliloquy.recipes.calls import calls_of, turns_of
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import CallTime, Timings

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


def timings(
    conversations: Iterable[Conversation], at: Iterable[float], services: Iterable[Sequence[str]] = repeat(())
) -> pa.RecordBatch:
    """Returns a row for each conversation; `at` is when each was collected, `services` has the digests of each."""
    return timing_rows(map(_times, conversations, at, services))


def _times(conversation: Conversation, collected_at: float, services: Sequence[str]) -> Timings:
    times = Timings(id=conversation.id, collected_at=collected_at, services=services)
    for turn in conversation.turns:
        for number, attempt in enumerate(turn.calculation.attempts, start=1):
            taken = {name: getattr(attempt.execution, name) for name in _OF_EXECUTIONS}
            times.executions.add(turn=turn.number, attempt=number, **taken)
    each = ((turn.number, turn.calls) for turn in turns_of(conversation))
    for number, calls in chain([(0, conversation.problem.enrichment.calls)], each):
        times.calls.extend(CallTime(turn=number, role=call.role, seconds=call.seconds) for call in calls)
    return times


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
