"""Conversations as the page holds them: columns of JSON in compressed blocks, unpacked when somebody reads them."""

import base64
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import to_json

from soliloquy.dataset.columns import below, named, students
from soliloquy.dataset.values import shown_values

# A reader waits for one block, and a search for all of them.
ROWS_A_BLOCK = 100
# Level 6 gives a file a tenth smaller and takes twice as long.
_LEVEL = 4


def packed(content: Any) -> str:
    """Letters, digits, + and /: nothing that could end the element it stands in."""
    deflate = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(to_json(content)) + deflate.flush()).decode("ascii")


def columns(batch: pa.RecordBatch) -> dict[str, Any]:
    """Each field with its values of all rows; of a list, how many each row has (n) and all of them (of)."""
    problem = batch["problem"]
    turns = pc.list_flatten(batch["turns"])
    student, tutor, calculation = (below(turns, name) for name in ("student", "tutor", "calculation"))
    enrichment = below(problem, "enrichment")
    return {
        "id": batch["id"].to_pylist(),
        "ordinal": batch["ordinal"].to_pylist(),
        "attempt": batch["attempt"].to_pylist(),
        "persona": students(batch).to_pylist(),
        "ending": named(batch["ending"], "ENDING_").to_pylist(),
        "ending_reason": batch["ending_reason"].to_pylist(),
        "reasons": _listed(batch["reasons"]) if "reasons" in batch.schema.names else None,
        **{name: below(problem, name).to_pylist() for name in ("topic", "source", "question", "solution")},
        "outline": below(enrichment, "outline").to_pylist(),
        "confusion": _if_any(below(enrichment, "confusion", "solution")),
        "plan": _records(pc.struct_field(below(enrichment, "plan"), "questions"), "question", "answer"),
        "opinions": _records(
            pc.struct_field(below(problem, "authorship"), "opinions"),
            *("criterion", "ruling", "judge", "because"),
            ruling=lambda rulings: named(rulings, "RULING_"),
        ),
        "turns": {
            "n": pc.list_value_length(batch["turns"]).to_pylist(),
            "of": {
                "student": below(student, "text").to_pylist(),
                "intent": named(below(student, "intent"), "INTENT_").to_pylist(),
                "strategy": named(below(student, "strategy"), "ERROR_STRATEGY_").to_pylist(),
                "belief": _if_any(named(below(student, "belief"), "BELIEF_")),
                "shows": _if_any(named(below(student, "learner_state"), "LEARNER_STATE_")),
                "rejected": _records(pc.struct_field(student, "rejected"), "text", "because"),
                "description": below(calculation, "description").to_pylist(),
                "attempts": _attempts(pc.struct_field(calculation, "attempts")),
                "thoughts": below(tutor, "thoughts").to_pylist(),
                "tutor": below(tutor, "text").to_pylist(),
                "evaluation": named(below(tutor, "evaluation"), "EVALUATION_").to_pylist(),
                "action": below(tutor, "action").to_pylist(),
                "step": below(tutor, "step").to_pylist(),
                "state": named(below(tutor, "state"), "STEP_STATE_").to_pylist(),
                "move": _if_any(named(below(tutor, "move"), "MOVE_")),
                "move_intent": _if_any(named(below(tutor, "move_intent"), "MOVE_INTENT_")),
                "learner_state": _if_any(named(below(tutor, "learner_state"), "LEARNER_STATE_")),
                "sub_question": below(turns, "sub_question").to_pylist(),
                "model": _models(pc.struct_field(turns, "calls")),
            },
        },
    }


def _attempts(attempts: pa.Array) -> dict[str, Any]:
    code = below(attempts.flatten(), "code")
    execution = below(attempts.flatten(), "execution")
    values = pc.struct_field(execution, "values")
    return {
        "n": _lengths(attempts),
        "of": {
            "code": code.to_pylist(),
            "status": named(below(execution, "status"), "STATUS_").to_pylist(),
            "lane": named(below(execution, "lane"), "LANE_").to_pylist(),
            "isolation": below(execution, "isolation").to_pylist(),
            "error": below(execution, "error").to_pylist(),
            "error_line": below(execution, "error_line").to_pylist(),
            "stdout": below(execution, "stdout").to_pylist(),
            "recomputed": _listed(pc.struct_field(execution, "recomputed")),
            "values": {
                "n": _lengths(values),
                "of": {
                    "name": below(values.flatten(), "name").to_pylist(),
                    "shown": shown_values(below(values.flatten(), "value")),
                },
            },
        },
    }


def _models(calls: pa.Array) -> list[str | None]:
    """Who answered last in each turn."""
    named_models = below(calls.flatten(), "model")
    lengths = pc.fill_null(pc.list_value_length(calls), 0)
    last = pc.if_else(pc.greater(lengths, 0), pc.subtract(pc.cumulative_sum(lengths), 1), None)
    models: list[str | None] = named_models.take(last).to_pylist()
    return models


def _if_any(column: pa.Array) -> list[str | None] | None:
    """What only some recipes have is a column of theirs alone."""
    values: list[str | None] = column.to_pylist()
    return values if column.null_count < len(column) else None


def _records(lists: pa.Array, *names: str, **told: Callable[[pa.Array], pa.Array]) -> dict[str, Any] | None:
    """A list of messages, of which some fields are shown; each may be told in other words."""
    records = lists.flatten()
    fields = {name: told.get(name, lambda values: values)(below(records, name)) for name in names}
    if not len(records):
        return None
    return {"n": _lengths(lists), "of": {name: column.to_pylist() for name, column in fields.items()}}


def _listed(lists: pa.Array) -> dict[str, Any]:
    return {"n": _lengths(lists), "of": pc.list_flatten(lists).to_pylist()}


def _lengths(lists: pa.Array) -> list[int]:
    lengths: list[int] = pc.fill_null(pc.list_value_length(lists), 0).to_pylist()
    return lengths
