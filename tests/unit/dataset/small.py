"""A small conversation with everything in it, and folders of such."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.dataset.exports.decoding import dialogues
from soliloquy.dataset.exports.dialogue import Dialogue
from soliloquy.dataset.manifest import Shard, write_manifest
from soliloquy.dataset.storage import Storage
from soliloquy.recipes.soliloquy.labels_pb2 import StepState, StudentLabels, TutorLabels
from soliloquy.v1.conversation_pb2 import (
    Conversation,
    Ending,
    ErrorStrategy,
    Evaluation,
    Intent,
    ParseOutcome,
    StepKind,
)
from soliloquy.v1.sandbox_pb2 import NamedValue, Status, Value
from tests.datasets import accepted_rows, rejected_rows


def small(number: int = 1, **fields: Any) -> Conversation:
    """Two turns: a wrong answer that is calculated at the second try, and the right one."""
    grown = Conversation(id=f"c{number}", ordinal=number, persona="careful", ending=Ending.ENDING_SOLVED, **fields)
    grown.run.recipe = "soliloquy"
    problem = grown.problem
    problem.id, problem.topic = f"p{number}", "motion"
    problem.question = "A cart rolls 6 m in 2 s. How fast is it?"
    problem.solution = "Step 1) v = s / t = 3 m/s"
    step = problem.steps.add(number=1, kind=StepKind.STEP_KIND_COMPUTE, explanation="Speed is distance over time.")
    step.expression = "s / t"
    step.inputs.add(symbol="s", name="distance", value=6, unit="m")
    step.inputs.add(symbol="t", name="time", value=2, unit="s")
    step.result.symbol, step.result.value, step.result.unit = "v", 3, "m/s"
    problem.answer.value, problem.answer.unit = 3, "m/s"
    first = grown.turns.add(number=1)
    first.student.text, first.student.intent = 'It\'s "12" m/s', Intent.INTENT_WRONG
    wrong_by = StudentLabels(strategy=ErrorStrategy.ERROR_STRATEGY_REARRANGEMENT)
    first.student.labels = wrong_by.SerializeToString()
    first.calculation.description = "s / t with s = 6, t = 2; the student's 12"
    failed = first.calculation.attempts.add(code="v = s / t", result_variables=["v"])
    failed.execution.status, failed.execution.error_line = Status.STATUS_ERROR, 1
    failed.execution.error = "NameError: name 's' is not defined"
    again = first.calculation.attempts.add(code="v = 6 / 2\nok = v == 12", result_variables=["v", "ok"])
    again.execution.status = Status.STATUS_OK
    again.execution.values.append(NamedValue(name="v", value=Value(real=3.0)))
    again.execution.values.append(NamedValue(name="ok", value=Value(boolean=False)))
    first.tutor.text, first.tutor.thoughts = "Not yet. What is divided by what?", "Multiplied."
    first.tutor.evaluation = Evaluation.EVALUATION_INCORRECT
    first.tutor.labels = TutorLabels(action=1, step=1, state=StepState.STEP_STATE_IN_PROGRESS).SerializeToString()
    call = first.calls.add(role="student", prompt="soliloquy/student", model="scripted", raw=["It's 12 m/s"])
    call.outcome = ParseOutcome.PARSE_OUTCOME_STRICT
    second = grown.turns.add(number=2)
    second.student.text, second.student.intent = "s by t, so 3 m/s", Intent.INTENT_RIGHT
    second.tutor.text, second.tutor.thoughts = "Right, all done.", "Correct."
    second.tutor.evaluation = Evaluation.EVALUATION_CORRECT
    second.tutor.labels = TutorLabels(action=3, step=1, state=StepState.STEP_STATE_ALL_FINISHED).SerializeToString()
    return grown


def told(conversation: Conversation) -> Dialogue:
    return next(dialogues(accepted_rows([conversation])))


def dataset(folder: Path, *shards: Sequence[Conversation], rejected: Sequence[Conversation] = ()) -> Path:
    """A folder with a shard for each sequence, of one recipe each; its row groups have ten rows."""
    folder.mkdir(exist_ok=True)
    listed = [
        _shard(folder, f"accepted/{number:05}.parquet", accepted_rows(shard)) for number, shard in enumerate(shards)
    ]
    if rejected:
        batch = rejected_rows([(conversation, ["repeated: turn 2"]) for conversation in rejected])
        listed.append(_shard(folder, "rejected/00000.parquet", batch))
    write_manifest(Storage(folder), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, listed)
    return folder


def _shard(folder: Path, name: str, batch: pa.RecordBatch) -> Shard:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_batches([batch]), path, row_group_size=10)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Shard(name=name, rows=batch.num_rows, bytes=path.stat().st_size, sha256=digest)
