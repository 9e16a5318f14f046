"""Each format by hand: what a small conversation is in it."""

import json
from pathlib import Path

import pytest

from soliloquy.dataset.exports import format as formats
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.exports.formats import openai, sharegpt
from soliloquy.recipes import packages
from soliloquy.runtime.extensions import Extensions
from soliloquy_papers.mathdial.formats import mathdial
from soliloquy_papers.mathwell.formats import sgsm
from soliloquy_papers.soliloquy.formats import fastchat, soliloquies
from tests.unit.dataset.small import small, told

BARE = ExportOptions(leave_out=frozenset({"prompts"}))
SPOKEN = ExportOptions(leave_out=frozenset({"hidden", "prompts"}))

DESCRIPTION = "s / t with s = 6, t = 2; the student's 12"
FAILED = "error: line 1: NameError: name 's' is not defined"
THOUGHT = {
    "Thoughts of Tutorbot": "Multiplied.",
    "Evaluation of Student Response": "a",
    "Action Based on Evaluation": "1",
    "Step Number": "1",
    "Step State": "q",
    "Tutorbot Response": "Not yet. What is divided by what?",
}
THOUGHT_LAST = {
    "Thoughts of Tutorbot": "Correct.",
    "Evaluation of Student Response": "b",
    "Action Based on Evaluation": "3",
    "Step Number": "1",
    "Step State": "t",
    "Tutorbot Response": "Right, all done.",
}


def test_openai_has_the_code_as_tool_calls() -> None:
    row = openai.row(told(small()), BARE)
    assert row is not None
    user, call, failure, again, output, reply, user_last, reply_last = row["messages"]
    assert user == {"role": "user", "content": 'It\'s "12" m/s'}
    [first] = call.pop("tool_calls")
    assert call == {"role": "assistant"}
    assert (first["id"], first["type"], first["function"]["name"]) == ("call_1", "function", "python")
    assert json.loads(first["function"]["arguments"]) == {
        "description": DESCRIPTION,
        "code": "v = s / t",
        "result_variables": ["v"],
    }
    assert failure == {"role": "tool", "tool_call_id": "call_1", "content": FAILED}
    [second] = again["tool_calls"]
    assert json.loads(second["function"]["arguments"]) == {
        "code": "v = 6 / 2\nok = v == 12",
        "result_variables": ["v", "ok"],
    }
    assert output == {"role": "tool", "tool_call_id": "call_2", "content": "v = 3.0\nok = False"}
    assert (reply["role"], json.loads(reply["content"])) == ("assistant", THOUGHT)
    assert user_last == {"role": "user", "content": "s by t, so 3 m/s"}
    assert json.loads(reply_last["content"]) == THOUGHT_LAST
    assert [tool["function"]["name"] for tool in row["tools"]] == ["python"]


def test_openai_without_hidden_states_is_what_was_said() -> None:
    assert openai.row(told(small()), SPOKEN) == {
        "messages": [
            {"role": "user", "content": 'It\'s "12" m/s'},
            {"role": "assistant", "content": "Not yet. What is divided by what?"},
            {"role": "user", "content": "s by t, so 3 m/s"},
            {"role": "assistant", "content": "Right, all done."},
        ]
    }


def test_the_system_message_has_the_problem_and_its_solution() -> None:
    row = openai.row(told(small()), ExportOptions())
    assert row is not None
    assert row["messages"][0]["role"] == "system"
    assert row["messages"][0]["content"].endswith(
        "<question>\nA cart rolls 6 m in 2 s. How fast is it?\n</question>\n\n"
        "<solution>\nStep 1) v = s / t = 3 m/s\n</solution>"
    )
    kept = openai.row(told(small()), ExportOptions(leave_out=frozenset({"solutions"})))
    assert kept is not None
    assert "<solution>" not in kept["messages"][0]["content"]


def test_sharegpt_takes_turns() -> None:
    row = sharegpt.row(told(small()), BARE)
    assert row is not None
    speakers = [message["from"] for message in row["conversations"]]
    assert speakers == [
        *("human", "function_call", "observation", "function_call", "observation", "gpt"),
        *("human", "gpt"),
    ]
    assert json.loads(row["conversations"][3]["value"]) == {
        "name": "python",
        "arguments": {"code": "v = 6 / 2\nok = v == 12", "result_variables": ["v", "ok"]},
    }
    assert row["conversations"][4]["value"] == "v = 3.0\nok = False"
    assert [tool["name"] for tool in json.loads(row["tools"])] == ["python"]
    assert row["id"] == "c1"
    assert "system" not in row


def test_fastchat_has_nobody_but_human_and_gpt() -> None:
    row = fastchat.row(told(small()), BARE)
    assert row is not None
    assert [message["from"] for message in row["conversations"]] == ["human", "gpt"] * 4
    values = [message["value"] for message in row["conversations"]]
    assert json.loads(values[1]) == {
        "Use Python": "y",
        "Description": DESCRIPTION,
        "Python": {"Python Code": "```python\nv = s / t\n```", "Result Variable": "v"},
    }
    assert values[2] == FAILED
    assert json.loads(values[3]) == {
        "Python": {"Python Code": "```python\nv = 6 / 2\nok = v == 12\n```", "Result Variable": "v, ok"}
    }
    assert values[4] == "v = 3.0\nok = False"
    assert json.loads(values[5]) == THOUGHT
    assert (values[6], json.loads(values[7])) == ("s by t, so 3 m/s", THOUGHT_LAST)


def test_fastchat_begins_with_the_prompt() -> None:
    row = fastchat.row(told(small()), ExportOptions(leave_out=frozenset({"hidden"})))
    assert row is not None
    first = row["conversations"][0]
    assert first["from"] == "human"
    assert first["value"].startswith("You are a patient tutor")
    assert first["value"].endswith('</solution>\n\nIt\'s "12" m/s')


def test_soliloquies_have_the_papers_fields() -> None:
    assert soliloquies.row(told(small()), ExportOptions()) == {
        "id": "c1",
        "Problem": "p1",
        "Topic": "motion",
        "Question": "A cart rolls 6 m in 2 s. How fast is it?",
        "Solution": "Step 1) v = s / t = 3 m/s",
        "Persona": "careful",
        "Ending": "solved",
        "conversations": [
            {"from": "student", "value": 'It\'s "12" m/s', "Intent": "wrong", "Error Strategy": "rearrangement"},
            {"from": "deciding_state", "value": {"Use Python": "y", "Description": DESCRIPTION}},
            {
                "from": "use_python_state",
                "value": {"Python": {"Python Code": "```python\nv = s / t\n```", "Result Variable": "v"}},
            },
            {"from": "python_output", "value": FAILED},
            {
                "from": "use_python_state",
                "value": {
                    "Python": {"Python Code": "```python\nv = 6 / 2\nok = v == 12\n```", "Result Variable": "v, ok"}
                },
            },
            {
                "from": "python_output",
                "value": 'Tutorbot calculated "v" to be 3.0.\nTutorbot calculated "ok" to be False.\n',
            },
            {"from": "received_python_state", "value": THOUGHT},
            {"from": "student", "value": "s by t, so 3 m/s", "Intent": "right"},
            {"from": "deciding_state", "value": {"Use Python": "n"}},
            {"from": "no_python_state", "value": THOUGHT_LAST},
        ],
    }


def test_mathdial_has_the_dialogue_in_a_cell_with_the_moves() -> None:
    assert mathdial.row(told(small()), SPOKEN) == {
        "qid": "p1",
        "scenario": None,
        "question": "A cart rolls 6 m in 2 s. How fast is it?",
        "ground_truth": "Step 1) v = s / t = 3 m/s",
        "student_incorrect_solution": None,
        "student_profile": "careful",
        "teacher_described_confusion": None,
        "self-correctness": "Yes",
        "self-typical-confusion": None,
        "self-typical-interactions": None,
        "conversation": 'Student: It\'s "12" m/s|EOM|Teacher: (focus)Not yet. What is divided by what?|EOM|'
        "Student: s by t, so 3 m/s|EOM|Teacher: (generic)Right, all done.",
    }


def test_sgsm_has_the_steps_as_a_function_that_runs() -> None:
    row = sgsm.row(told(small()), SPOKEN)
    assert row == {
        "question": "A cart rolls 6 m in 2 s. How fast is it?",
        "solution": "def solution():\n    # Speed is distance over time.\n    s = 6  # distance in m\n"
        "    t = 2  # time in s\n    v = s / t\n    return v",
        "answer": 3.0,
        "topic": "motion",
    }
    names: dict[str, object] = {}
    exec(row["solution"], names)
    solution = names["solution"]
    assert callable(solution)
    assert solution() == row["answer"]


def test_sgsm_has_no_row_for_a_problem_without_numbers() -> None:
    conceptual = small()
    conceptual.problem.ClearField("steps")
    assert sgsm.row(told(conceptual), SPOKEN) is None


def _package(folder: Path, name: str, *modules: str) -> None:
    (folder / name / "formats").mkdir(parents=True)
    for file in ("__init__", "formats/__init__", *(f"formats/{module}" for module in modules)):
        (folder / name / f"{file}.py").touch()


def test_formats_of_somebody_elses_recipe_are_found_and_none_takes_the_name_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _package(tmp_path, "socratic_debugging", "dialogues", "_shared")
    _package(tmp_path, "copied_debugging", "openai")
    monkeypatch.syspath_prepend(tmp_path)
    named = {"debugging": ["socratic_debugging"], "copied": ["copied_debugging"]}
    monkeypatch.setattr(packages.RECIPES, "claims", named)
    found = Extensions("export format", "soliloquy.exports", formats._ours).claims
    assert found["dialogues"] == ["socratic_debugging.formats.dialogues:FORMAT"]
    assert {*found} == {"dialogues", "hf", "openai", "preferences", "sharegpt"}
    assert found["openai"] == ["soliloquy.dataset.exports.formats.openai:FORMAT"]
    assert "copied_debugging.formats.openai:FORMAT is not used" in caplog.text
