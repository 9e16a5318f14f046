"""Rows as others published or write them: what they say is kept, and exported again it is the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.exporting import rows_of
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.exports.importing import dialogue_of, import_rows
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.soliloquy.rules import check
from soliloquy.v1.conversation_pb2 import Problem
from tests.unit.dataset.small import told


def again(row: dict[str, Any], name: str) -> dict[str, Any] | None:
    conversation = conversation_of(dialogue_of(row, name), "run", 0)
    [(_, made)] = rows_of(name, ExportOptions(), iter([told(conversation)]))
    return made


def test_a_decision_against_a_program_begins_another_turn() -> None:
    said = [
        {"from": "deciding_state", "value": {"Use Python": "y", "Description": "Add them."}},
        {"from": "deciding_state", "value": {"Use Python": "n"}},
        {"from": "no_python_state", "value": {"Tutorbot Response": "Go on."}},
    ]
    turns = dialogue_of({"id": "1", "conversations": said}, "soliloquies").turns
    assert [(turn.description, turn.reply) for turn in turns] == [("Add them.", None), (None, "Go on.")]


def test_chats_of_others_keep_their_own_prompt() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
    ]
    made = again({"messages": messages}, "openai")
    assert made is not None
    assert made["messages"] == messages
    chat = {
        "id": "x",
        "source": "web",
        "system": "Be kind.",
        "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}],
    }
    made = again(chat, "sharegpt")
    assert made is not None
    assert {name: made[name] for name in chat} == chat


ROWS: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


@pytest.mark.parametrize("case", ROWS["whole"])
def test_a_row_of_others_is_read_and_comes_back_whole(case: dict[str, Any]) -> None:
    read = dialogue_of(case["row"], case["format"])
    assert {name: getattr(read, name) for name in case.get("read", ())} == case.get("read", {})
    assert again(case["row"], case["format"]) == case["row"]


@pytest.mark.parametrize("case", ROWS["secret"])
def test_what_was_kept_of_a_row_is_left_out_with_any_part(case: dict[str, Any]) -> None:
    conversation = conversation_of(dialogue_of(case["row"], case["format"]), "run", 0)
    [(_, made)] = rows_of(case["format"], ExportOptions({case["part"]}), iter([told(conversation)]))
    assert made
    assert "SECRET" not in json.dumps(made)


REPLY = {
    "Thoughts of Tutorbot": "Nothing is to be judged yet.",
    "Evaluation of Student Response": "g",
    "Action Based on Evaluation": "12",
    "Step Number": "1",
    "Step State": "q",
    "Tutorbot Response": "What do you know of the cart?",
}
OPENING = 'Please help me with this: "A cart rolls 6 m in 2 s. How fast is it?" Go step by step.'


def state(name: str, **fields: Any) -> dict[str, Any]:
    return {"from": f"{name}_state", "value": fields}


def soliloquies(*said: dict[str, Any]) -> dict[str, Any]:
    opened = [{"from": "student", "value": OPENING}, state("initial", **REPLY)]
    return {"id": "conversation_7", "conversations": [*opened, {"from": "student", "value": "3 m/s"}, *said]}


def calculated(code: str, variables: str, output: str) -> list[dict[str, Any]]:
    return [
        state("deciding", **{"Use Python": "y", "Description": "6 divided by 2, and whether it is 3"}),
        state("use_python", Python={"Python Code": code, "Result Variable": variables}),
        {"from": "python_output", "value": output},
    ]


def test_a_conversation_gets_the_solution_of_its_problem_and_comes_back_whole(tmp_path: Path) -> None:
    row, source = soliloquies(state("no_python", **REPLY)), tmp_path / "one.json"
    source.write_text(json.dumps(row), "utf-8")
    problem = Problem(id="p1", question="A cart rolls 6 m in 2 s. How fast is it?", solution="6 / 2 = 3")
    problem.steps.add(explanation="Divide.")
    known = {problem.question: problem}
    imported = tmp_path / "imported"
    counts = import_rows(source, "soliloquies", imported, [("one.json", row)], report=pytest.fail, problem_of=known.get)
    assert (counts.written, counts.joined) == (1, 1)
    [conversation] = Dataset(imported)
    assert (conversation.problem.solution, len(conversation.problem.steps)) == ("6 / 2 = 3", 1)
    # Nobody followed these steps, so that no rule compares what is said on the way with their results.
    lacking = check(conversation).lacking
    assert {rule for rule, need in lacking.items() if need in ("plan", "course")} == {
        "steps",
        "three_wrong",
        "early_answer",
        "drawn",
        "wrong_program",
    }
    [(_, made)] = rows_of("soliloquies", ExportOptions(), iter([told(conversation)]))
    assert made == row


def test_what_is_left_out_of_an_export_does_not_come_back_with_the_original() -> None:
    row = soliloquies(*calculated("v=3", "['v']", "three"), state("received_python", **REPLY | {"Step State": "r) on"}))
    conversation = conversation_of(dialogue_of(row, "soliloquies"), "run", 0)
    [(_, made)] = rows_of("soliloquies", ExportOptions({"hidden"}), iter([told(conversation)]))
    assert made is not None
    assert [message["from"] for message in made["conversations"]] == ["student", "tutor"] * 2


def test_a_prompt_among_the_messages_stays_where_something_else_is_left_out() -> None:
    said = [("system", "Be kind."), ("human", "hi"), ("gpt", "hello")]
    row = {"conversations": [{"from": who, "value": text} for who, text in said]}
    conversation = conversation_of(dialogue_of(row, "sharegpt"), "run", 0)
    [(_, made)] = rows_of("sharegpt", ExportOptions({"hidden"}), iter([told(conversation)]))
    assert made == row


def test_the_log_of_a_tuned_model_is_a_conversation_with_its_raw_answers() -> None:
    program = {"Python": {"Python Code": "```python\nv = 6 / 2\n```", "Result Variable": "v"}}
    decision = {"Use Python": "y", "Description": "6 divided by 2, and the student's 4"}
    log = (
        "You are a tutor. USER: is a name. Now the conversation is beginning: USER: STUDENT: How fast is a cart that "
        "rolls 6 m in 2 s? ASSISTANT: INSTRUCTION: Decide. ASSISTANT: {'Use Python': 'n'} INSTRUCTION: Reply. "
        "ASSISTANT:\nWhat is divided by what?</s>USER: STUDENT: 4 m/s ASSISTANT: INSTRUCTION: Decide. "
        f"ASSISTANT: {decision!r} INSTRUCTION: Write it. ASSISTANT: {program!r} "
        'PYTHON: Tutorbot calculated "v" to be 3.0.\n INSTRUCTION: Reply. ASSISTANT:\nNot quite: what is half of 6?'
    )
    students = ["STUDENT: How fast is a cart that rolls 6 m in 2 s?", "4 m/s"]
    said = [["USER", students[0]], ["ASSISTANT", log[:300]], ["USER", students[1]], ["ASSISTANT", log]]
    row = {"template_name": "vicuna", "messages": said, "offset": 0}
    first, second = dialogue_of(row, "transcripts").turns
    assert (first.student, first.reply) == ("How fast is a cart that rolls 6 m in 2 s?", "What is divided by what?")
    assert (second.student, second.reply) == ("4 m/s", "Not quite: what is half of 6?")
    assert (second.description, second.attempts[0].output) == ("6 divided by 2, and the student's 4", "v = 3.0")
    assert again(row, "transcripts") == row


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"Evaluation of Student Response": "g) N/A"}, {"evaluation": "g"}),
        ({"Action Based on the Evaluation": "3) Confirm"}, {"labels": {"tutor.action": 3}}),
        ({"Step Number": "Step 2"}, {"labels": {"tutor.step": 2}}),
        ({"Step Number": "4b"}, {"labels": {"tutor.step": 4}}),
        ({"Step State": "q)"}, {"labels": {"tutor.state": "in progress"}}),
        ({"Step State": None}, {"labels": {}}),
    ],
)
def test_codes_are_read_as_real_data_writes_them(written: dict[str, Any], meant: dict[str, Any]) -> None:
    row = soliloquies(state("no_python", **{**written, "Tutorbot Response": "hello"}))
    turn = dialogue_of(row, "soliloquies").turns[-1]
    assert {name: getattr(turn, name) for name in meant} == meant


def test_odd_messages_of_an_import_are_counted(tmp_path: Path) -> None:
    told = [
        {"from": "student", "value": "Student: It is 6 m/s."},
        {"from": "deciding_state", "value": {"Use Python": "n"}},
        {"from": "no_python_state", "value": {**REPLY, "Evaluation of Student Response": "z"}},
        {"from": "student", "value": "Thanks!"},
        {"from": "student", "value": "Are you there?"},
        {"from": "no_python_state", "value": REPLY},
    ]
    source = tmp_path / "odd.json"
    row = {"conversations": told}
    source.write_text(json.dumps(row), "utf-8")
    counts = import_rows(source, "soliloquies", tmp_path / "odd", [("odd.json", row)], report=pytest.fail)
    assert counts.slips == {"leaked speakers' names": 1, "malformed codes": 1, "missing states": 1}
