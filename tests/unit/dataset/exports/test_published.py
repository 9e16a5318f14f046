"""Rows as others published or write them: what they say is kept, and exported again it is the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from soliloquy.cli.importing import import_
from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.exporting import rows_of
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.exports.importing import dialogue_of, import_rows
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.soliloquy.rules import check
from soliloquy.v1.conversation_pb2 import Problem
from tests.unit.dataset.small import told
from tests.unit.papers.mathdial.test_format import PLAIN as MATHDIAL

CODE = "def solution():\n    # Add them.\n    return 2 + 2"


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


CALL = {"name": "python", "arguments": json.dumps({"code": "v = 6 / 2", "result_variables": ["v"]})}
CHATS: list[tuple[str, dict[str, Any]]] = [
    (
        "openai",
        {
            "messages": [
                {"role": "user", "content": "3 m/s?", "name": "Ana"},
                {
                    "role": "assistant",
                    "content": "Let me see.",
                    "tool_calls": [{"id": "1", "type": "function", "function": CALL}],
                },
                {"role": "tool", "tool_call_id": "1", "content": "v = 3.0"},
                {"role": "assistant", "content": "Right.", "weight": 0},
            ],
            "tools": [],
        },
    ),
    (
        "sharegpt",
        {
            "conversations": [
                {"from": "system", "value": "Be kind."},
                {"from": "human", "value": "hi"},
                {"from": "gpt", "value": "hello"},
            ]
        },
    ),
    ("sharegpt", {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}], "system": ""}),
    ("fastchat", {"conversations": [{"from": "human", "value": "hi"}], "model": "m"}),
]


@pytest.mark.parametrize(("name", "row"), CHATS, ids=[name for name, _ in CHATS])
def test_chats_of_others_come_back_whole(name: str, row: dict[str, Any]) -> None:
    assert again(row, name) == row


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


FENCED = "```python\nv = 6 / 2\nok = v == 3\n```"
TOLD = 'Tutorbot calculated "v" to be 3.0.\nTutorbot calculated "ok" to be True.\n'


@pytest.mark.parametrize(
    "said",
    [
        [*calculated(FENCED, "v, ok", TOLD), state("received_python", **REPLY)],
        [*calculated("``` python v = 6 / 2```", "['v', 'ok']", TOLD), state("received_python", **REPLY)],
        [*calculated(FENCED, "v", "v is <Quantity 3>\n"), state("received_python", **REPLY)],
        [state("deciding", **{"Use Python": "n"}), state("no_python", **REPLY)],
        [state("deciding", **{"Use Python": "n) No"}), state("no_python", **REPLY | {"Step Number": "4b"})],
        [state("deciding", **{"Use Python": "n"}), {"from": "no_python_state", "value": "Right, well done."}],
        [state("no_python", **REPLY | {"Evaluation of Student Response": "b) Evaluating Correct Response"})],
    ],
    ids=["plain", "other fence", "other output", "no program", "codes in words", "no fields", "no decision"],
)
def test_published_soliloquies_come_back_whole(said: list[dict[str, Any]]) -> None:
    row = soliloquies(*said)
    assert again(row, "soliloquies") == row
    assert dialogue_of(row, "soliloquies").question == "A cart rolls 6 m in 2 s. How fast is it?"


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
    assert {rule for rule, need in lacking.items() if need == "plan"} == {
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


@pytest.mark.parametrize(
    ("name", "row", "part"),
    [
        ("sgsm", {"question": "3 + 4?", "solution": CODE, "answer": "SECRET", "topic": "fruit"}, "solutions"),
        ("sgsm", {"question": "3 + 4?", "solution": "SECRET", "answer": 7, "topic": "fruit"}, "solutions"),
        (
            "alpaca",
            {"instruction": "Go.", "input": "", "output": f"3 + 4?\n```python\n{CODE}  # SECRET\n```"},
            "solutions",
        ),
        ("mathdial", MATHDIAL | {"steps": "SECRET"}, "solutions"),
        ("soliloquies", soliloquies() | {"Solution": "SECRET"}, "solutions"),
        ("sharegpt", CHATS[1][1] | {"source": "SECRET"}, "prompts"),
        ("sharegpt", CHATS[1][1] | {"id": "1", "system": "SECRET"}, "prompts"),
        ("openai", CHATS[0][1] | {"thoughts": "SECRET"}, "hidden"),
    ],
)
def test_what_was_kept_of_a_row_is_left_out_with_any_part(name: str, row: dict[str, Any], part: str) -> None:
    conversation = conversation_of(dialogue_of(row, name), "run", 0)
    [(_, made)] = rows_of(name, ExportOptions({part}), iter([told(conversation)]))
    assert made
    assert "SECRET" not in json.dumps(made)


def test_a_prompt_among_the_messages_stays_where_something_else_is_left_out() -> None:
    name, row = CHATS[1]
    conversation = conversation_of(dialogue_of(row, name), "run", 0)
    [(_, made)] = rows_of(name, ExportOptions({"hidden"}), iter([told(conversation)]))
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


def test_code_in_any_fence_is_code() -> None:
    for fenced in ("`python x = 1`", "```python\nx = 1\n```", "x = 1", "```\nx = 1```"):
        row = soliloquies(*calculated(fenced, "['x', 'y']", "x = 1"), state("received_python", **REPLY))
        [attempt] = dialogue_of(row, "soliloquies").turns[-1].attempts
        assert (attempt.code.strip(), attempt.result_variables) == ("x = 1", ["x", "y"])


def test_a_word_problem_with_its_program_comes_back_whole() -> None:
    row = {"question": "2 + 2?", "solution": "def solution():\n    return 2 + 2", "answer": "four", "topic": None}
    assert again(row, "sgsm") == row
    assert dialogue_of(row | {"answer": 4}, "sgsm").answer == 4.0


INSTRUCTED = {
    "as we write it": ("kites", f"Question: What is 2 + 2?\nSolution:\n{CODE}"),
    "fenced": ("", f"What is 2 + 2?\n\n```python\n{CODE}\n```"),
    "labelled otherwise": (None, f"Problem: What is 2 + 2?\n\nCode:\n{CODE}\n"),
    "with an import": ("kites", f"What is 2 + 2? Solution: import math\n{CODE}"),
}


@pytest.mark.parametrize(("topic", "output"), INSTRUCTED.values(), ids=INSTRUCTED)
def test_an_instruction_record_is_read_as_a_problem_and_comes_back_whole(topic: str | None, output: str) -> None:
    row = {"instruction": "Do as you are told.", "input": topic, "output": output}
    told = dialogue_of(row, "alpaca")
    assert (told.question, told.topic) == ("What is 2 + 2?", topic or "")
    assert told.solution.endswith(CODE)
    assert again(row, "alpaca") == row


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("alpaca", {"instruction": "Go on.", "input": "", "output": "Sorry, I cannot do that."}),
        ("sgsm", {"question": "2 + 2?", "solution": "It is four.", "answer": None, "topic": None}),
    ],
)
def test_a_row_without_a_function_comes_back_whole_too(name: str, row: dict[str, Any]) -> None:
    assert again(row, name) == row


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


def test_an_id_that_comes_twice_ends_the_import_with_a_line_and_a_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "chats.jsonl"
    rows = [{"id": "one", "conversations": [{"from": "human", "value": text}]} for text in ("Hi.", "Hello.")]
    source.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    out = tmp_path / "imported"
    assert import_.main([str(source), "--format", "fastchat", "--out", str(out)], standalone_mode=False) == 1
    assert "chats.jsonl:2: id: the same as at chats.jsonl:1" in capsys.readouterr().err
    assert len([*Dataset(out)]) == 2
