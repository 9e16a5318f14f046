"""Exports, imports and exports again: the bytes are the same."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.exporting import export, rows_of
from soliloquy.dataset.exports.format import NAMES, PARTS, ExportOptions
from soliloquy.dataset.exports.importing import dialogue_of, import_rows
from soliloquy.dataset.exports.output import execution, written
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.soliloquy.labels_pb2 import StepState, TutorLabels
from soliloquy.runtime.values import shown
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Evaluation, Intent
from soliloquy.v1.sandbox_pb2 import Complex, Entries, Entry, Execution, Items, NamedValue, Status, Value
from tests.unit.dataset.small import told

ROW_FORMATS = [name for name in NAMES if name not in ("hf", "preferences")]
# Rare on their own, and what formats are made of.
TEXTS = st.text(max_size=30) | st.sampled_from(
    ["|EOM|", "x|EOM|Teacher: (focus)y", "Bob: hi", '{"Python":1}', "```", "\r\n", "v = 1", "</question>", "error: x"]
)
CHOICES = st.builds(ExportOptions, leave_out=st.frozensets(st.sampled_from(sorted(PARTS)), max_size=2))


def values(depth: int = 1) -> st.SearchStrategy[Value]:
    leaves = st.one_of(
        st.booleans().map(lambda one: Value(boolean=one)),
        st.integers().map(lambda one: Value(integer=str(one))),
        st.floats().map(lambda one: Value(real=one)),
        st.text(max_size=5).map(lambda one: Value(text=one)),
        st.just(Value(none=True)),
        st.just(Value(unserialisable="function")),
        st.floats(-9, 9).map(lambda one: Value(complex=Complex(real=one, imaginary=1.5))),
    )
    if not depth:
        return leaves
    below = values(depth - 1)
    lists = st.lists(below, max_size=3).map(lambda items: Value(items=Items(items=items)))
    entries = st.lists(st.builds(lambda key, value: Entry(key=key, value=value), leaves, below), max_size=2)
    return leaves | lists | entries.map(lambda pairs: Value(entries=Entries(entries=pairs)))


NAMES_OF_VALUES = st.sampled_from(["v", "is_ok", "µ"])
NAMED = st.builds(lambda name, value: NamedValue(name=name, value=value), NAMES_OF_VALUES, values())
EXECUTIONS = st.builds(
    lambda **fields: Execution(**fields),
    status=st.sampled_from(Status.values()),
    values=st.lists(NAMED, max_size=2),
    stdout=TEXTS,
    error=TEXTS,
    error_line=st.integers(0, 20),
)


@st.composite
def conversations(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Conversation:
    grown = Conversation(id=draw(st.text(min_size=1, max_size=5)), persona=draw(TEXTS))
    grown.ending = draw(st.sampled_from(Ending.values()))
    problem = grown.problem
    problem.id, problem.topic, problem.question, problem.solution = (draw(TEXTS) for _ in range(4))
    if draw(st.booleans()):
        problem.answer.value = draw(st.floats(allow_nan=False, allow_infinity=False))
    for number in range(draw(st.integers(0, 3))):
        turn = grown.turns.add(number=number + 1)
        if draw(st.booleans()):
            turn.student.text, turn.student.intent = draw(TEXTS), draw(st.sampled_from(Intent.values()))
        if draw(st.booleans()):
            turn.calculation.description = draw(TEXTS)
            for _ in range(draw(st.integers(0, 2))):
                attempt = turn.calculation.attempts.add(code=draw(TEXTS))
                attempt.result_variables.extend(draw(st.lists(NAMES_OF_VALUES, max_size=2)))
                attempt.execution.CopyFrom(draw(EXECUTIONS))
        if draw(st.booleans()):
            turn.tutor.text, turn.tutor.thoughts = draw(TEXTS), draw(TEXTS)
            turn.tutor.evaluation = draw(st.sampled_from(Evaluation.values()))
            action, step, state = st.integers(0, 12), st.integers(0, 9), st.sampled_from(StepState.values())
            labels = TutorLabels(action=draw(action), step=draw(step), state=draw(state))
            turn.tutor.labels = labels.SerializeToString()
    return grown


def exported(conversation: Conversation, name: str, choice: ExportOptions) -> bytes | None:
    [(_, row)] = rows_of(name, choice, iter([told(conversation)]))
    return None if row is None else to_json(row)


# The tutor speaks first in its second turn.
SPOKE = {"text": "Hi.", "labels": TutorLabels(step=1).SerializeToString()}
SILENT_AT_FIRST = Conversation(id="0", turns=[{"number": 1}, {"number": 2, "tutor": SPOKE}])
# An import takes it for solved.
DONE = {"text": "Done.", "labels": TutorLabels(state=StepState.STEP_STATE_ALL_FINISHED).SerializeToString()}
FINISHED = Conversation(id="0", turns=[{"number": 1, "tutor": DONE}])


@pytest.mark.parametrize("name", ROW_FORMATS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(conversation=SILENT_AT_FIRST, choice=ExportOptions(leave_out=frozenset({"labels"})))
@example(conversation=FINISHED, choice=ExportOptions(leave_out=frozenset({"labels"})))
@given(conversation=conversations(), choice=CHOICES)
def test_an_export_that_is_imported_and_exported_is_the_same(
    name: str, conversation: Conversation, choice: ExportOptions
) -> None:
    first = exported(conversation, name, choice)
    if first is not None:
        back = conversation_of(dialogue_of(from_json(first), name), "run", 0)
        assert exported(back, name, choice) == first


@settings(max_examples=60, deadline=None)
@given(done=EXECUTIONS)
def test_an_output_is_read_as_what_makes_the_same_output(done: Execution) -> None:
    text = output(done)
    assert output(execution(text)) == text


def output(done: Execution) -> str:
    status = Status.Name(done.status).removeprefix("STATUS_").lower()
    named = [f"{one.name} = {shown(one.value)}" for one in done.values]
    return written(status, named, done.stdout, done.error, done.error_line)


def test_values_come_back_under_their_names() -> None:
    done = execution("v = 3.0\nok = False\nprinted")
    assert [(one.name, shown(one.value)) for one in done.values] == [("v", "3.0"), ("ok", "False")]
    assert done.stdout == "printed"
    failed = execution("timeout: line 3: too long")
    assert (failed.status, failed.error_line, failed.error) == (Status.STATUS_TIMEOUT, 3, "too long")


def test_a_folder_of_files_in_one_style_comes_back_in_it(tmp_path: Path) -> None:
    rows = [{"qid": str(number), "conversation": "Teacher: (focus)Why?|EOM|Student: So."} for number in range(2)]
    (tmp_path / "rows").mkdir()
    # With spaces behind commas and colons.
    lines = [json.dumps(row) + "\n" for row in rows]
    for number, line in enumerate(lines):
        (tmp_path / "rows" / f"{number}.jsonl").write_text(line, "utf-8")
    read = [(str(number), row) for number, row in enumerate(rows)]
    import_rows(tmp_path / "rows", "mathdial", tmp_path / "dataset", read, report=print)
    dataset = Dataset(str(tmp_path / "dataset"))
    export(dataset, "mathdial", tmp_path / "again.jsonl", choice=ExportOptions(leave_out=frozenset({"labels"})))
    assert (tmp_path / "again.jsonl").read_text("utf-8") == "".join(lines)
