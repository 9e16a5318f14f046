"""The tables of papers come from folders like those that their authors published, and a bad folder is told in lines."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.main import commands


def replicated(paper: str, folder: Path, *options: str) -> Result:
    return CliRunner().invoke(commands, ["replicate", paper, str(folder), *options], env={"COLUMNS": "80"})


def figures(result: Result) -> dict[str, dict[str, Any]]:
    """Maps each title and measure to its figures, of which those that differ must be explained."""
    tables = [table for table in json.loads(result.stdout)["tables"] if "rows" in table]
    for table in tables:
        differing = [row["measure"] for row in table["rows"] if differs(row)]
        assert [one for one in differing if not any(f"{one},".startswith(f"{name},") for name in table["why"])] == []
    return {table["title"]: {row["measure"]: row for row in table["rows"]} for table in tables}


def differs(row: Mapping[str, Any]) -> bool:
    cells = (row[name] for name in ("authors", "ours", "paper"))
    values = (100 * cell["share"] if isinstance(cell, dict) and cell["of"] else cell for cell in cells)
    return len({value for value in values if isinstance(value, int | float)}) > 1


def written(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        sheet = csv.DictWriter(file, list(rows[0]))
        sheet.writeheader()
        sheet.writerows(rows)


APPLES = {
    "question": "Ida has 9 apples. She eats 2 and gives 3 to Tom. How many apples does Ida have left?",
    "solution": "def solution():\n    apples = 9\n    eaten = 2\n    given = 3\n    return apples - eaten - given",
    "answer": "4",
}
BOOKS = {
    "question": "A shelf has 4 rows with 6 books each. How many books are on the shelf?",
    "solution": "def solution():\n    return 4 * 6",
    "answer": "25",
}
RIDDLE = {"question": "How old is the captain?", "solution": "def solution():\n    return age", "answer": "8"}
TWO_NUMBERS = {
    "question": "Ida has 9 apples and gives 2 to Tom, who had none. How many has each?",
    "solution": "def solution():\n    return (9 - 2, 2)",
    "answer": "(7, 2)",
}
LABELS = [
    {"solvability": "1", "accuracy": "1.0", "appropriateness": "1.0"},
    {"solvability": "1", "accuracy": "0.0", "appropriateness": "1.0"},
    {"solvability": "0", "accuracy": "", "appropriateness": ""},
]


def mathwell(folder: Path) -> Path:
    problems = [APPLES, BOOKS, RIDDLE]
    labelled = [one | labels for one, labels in zip(problems, LABELS, strict=True)]
    models = ["finetuned_llama", "mathwell", "somebody_else"]
    written(
        folder / "annotations.csv",
        [row | {"model": of, "mac": str(int(row is labelled[0]))} for row, of in zip(labelled, models, strict=True)],
    )
    none = dict.fromkeys(["llema", "mammoth", "llama", "multiplication", "division", "fractions", "decimals"], "0")
    evaluated = {"topic": "1", "good": "1", "total_ops": "2", "fkgl": "1.5", "ndc": "2.5", "question_length": "30"}
    asked = labelled[0] | none | evaluated | {"mathwell": "1", "addition": "1.0", "subtraction": "1.0"}
    written(folder / "evaluation_annotations.csv", [asked])
    written(folder / "egsm.csv", [one | {"topic": "fruit"} for one in (*problems, TWO_NUMBERS)])
    return folder


def test_mathwell_is_counted_by_peoples_labels_by_our_rules_and_in_the_sandbox(tmp_path: Path) -> None:
    result = replicated("mathwell", mathwell(tmp_path), "--json")
    assert result.exit_code == 0, result.output
    found = figures(result)
    labelled = found["All labelled rows (appendix B)"]
    # The row of a writer that the paper does not have is left out.
    assert (labelled["rows"]["authors"], labelled["rows"]["paper"]) == (2, 4234)
    assert labelled["accurate"]["authors"]["share"] == 0.5
    operations = found["Operations by writer (table 3)"]
    assert (
        operations["addition, MATHWELL"]["ours"]["share"] == operations["addition, MATHWELL"]["authors"]["share"] == 1
    )
    assert operations["operations, MATHWELL"] | {"measure": ""} == {
        "measure": "",
        "authors": 2,
        "ours": 2,
        "paper": 1.87,
    }
    # Two programs of four return what is stated, one of them two numbers: the second says 25, and the third fails.
    assert found["Programs run in our sandbox"]["approved: same answer"]["ours"]["passed"] == 2
    assert found["Programs run in our sandbox"]["approved: several numbers"]["ours"] == 1


def test_tables_fit_into_eighty_columns_and_explain_each_difference(tmp_path: Path) -> None:
    mathwell(tmp_path)
    for name in ("annotations.csv", "egsm.csv"):
        (tmp_path / name).unlink()
    result = replicated("mathwell", tmp_path)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "authors' way" in result.stdout
    # One row of one, with Wilson's interval.
    assert "100.0 % (21-100)" in result.stdout
    assert "  fractions: " in result.stdout


def test_missing_files_and_broken_rows_are_lines_and_the_rest_is_computed(tmp_path: Path) -> None:
    mathwell(tmp_path)
    (tmp_path / "annotations.csv").unlink()
    with (tmp_path / "evaluation_annotations.csv").open("a", encoding="utf-8") as file:
        file.write('"cut off in the mid')
    (tmp_path / "egsm.csv").unlink()
    result = replicated("mathwell", tmp_path, "--json")
    assert result.exit_code == 1
    missing, cut, other = result.stderr.splitlines()
    assert "annotations.csv: no such file" in missing
    assert "evaluation_annotations.csv:" in cut
    assert "never closed" in cut
    assert "egsm.csv: no such file" in other
    assert json.loads(result.stdout)["refused"] == result.stderr.splitlines()
    assert figures(result)["Labels by writer (table 2)"]["all, MATHWELL"]["authors"]["of"] == 1


def test_a_folder_of_something_else_is_refused_with_a_line_for_each_file(tmp_path: Path) -> None:
    written(tmp_path / "egsm.csv", [{"name": "x"}, {"name": "y"}])
    result = replicated("mathwell", tmp_path)
    assert result.exit_code == 2
    assert result.stdout == ""
    *files, last = result.stderr.splitlines()
    assert [line.removeprefix(str(tmp_path)).split(":")[0] for line in files] == [
        "/annotations.csv",
        "/evaluation_annotations.csv",
        "/egsm.csv",
    ]
    assert files[-1].endswith("no column 'question' in 2 rows")
    assert "holds nothing that can be read" in last


QUESTION = "Nia has 3 bags of 4 shells and finds 2 more. How many shells does she have?"
DIALOGUES = [
    # The student's second message denies 14, and its third ends with it.
    (
        "Yes",
        "Teacher: (generic)Hello Nia, what did you do?|EOM|Nia: I added 3 and 4 and 2.|EOM|"
        "Teacher: (focus)How many are in the bags?|EOM|Nia: 3 * 4 = 12, so not 14 but 12.|EOM|"
        "Teacher: (telling)And two more make 14, right?|EOM|Nia: Oh, she has 14 shells.",
    ),
    # Nobody says 14.
    ("No", "Teacher: (probing)Why 9?|EOM|Student: Because 3 + 4 + 2 = 9."),
]


def mathdial(folder: Path) -> Path:
    rows = [
        {
            "qid": str(number),
            "question": QUESTION,
            "ground_truth": "3 * 4 = 12\n12 + 2 = 14\n 14",
            "student_incorrect_solution": "3 + 4 + 2 = 9\n 9",
            "self-correctness": word,
            "conversation": said,
        }
        for number, (word, said) in enumerate(DIALOGUES, start=1)
    ]
    written(folder / "test.csv", rows)
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "example_model_output.jsonl").write_text(
        json.dumps(rows[1] | {"chatgpt_baseline": "Teacher: It is 14.<EOM>Student: I see, 14."}) + "\n", "utf-8"
    )
    return folder


def test_mathdials_success_is_any_number_for_its_authors_and_a_result_for_us(tmp_path: Path) -> None:
    result = replicated("mathdial", mathdial(tmp_path), "--json")
    assert result.exit_code == 0, result.output
    found = figures(result)
    people = found["People's dialogues (figure 5)"]
    shares = {
        name: (row["authors"]["passed"], row["ours"]["passed"])
        for name, row in people.items()
        if "k=2" in name or "k=3" in name
    }
    assert shares == {"Success, k=2": (1, 0), "Success, k=3": (1, 1), "Telling, k=2": (0, 0), "Telling, k=3": (0, 0)}
    seen = found["Success seen, by the teacher's word"]
    assert [(seen[word]["authors"]["passed"], seen[word]["ours"]["of"]) for word in ("teacher says yes", "no")] == [
        (1, 1),
        (0, 1),
    ]
    assert found["Example dialogues"]["Telling@5, ChatGPT"]["authors"]["passed"] == 1


def test_mathdials_utterances_are_its_teachers_with_and_without_marks(tmp_path: Path) -> None:
    found = figures(replicated("mathdial", mathdial(tmp_path), "--json"))
    data = found["Dialogues (table 1)"]
    # Of four teachers' utterances: 6, 6, 6 and 2 words; with their marks 8, 7, 8 and 3.
    assert (data["words an utterance"]["authors"], data["words an utterance"]["ours"]) == (6.5, 5)
    # Two messages of the first dialogue are replied to.
    assert (data["pairs a dialogue"]["authors"], data["pairs a dialogue"]["ours"]) == (1, 1)
    moves = found["Teacher moves (figure 4)"]
    assert {
        name: moves[name]["authors"]["passed"] for name in ("focus", "generic", "probing", "telling")
    } == dict.fromkeys(("focus", "generic", "probing", "telling"), 1)
    assert (moves["telling, first half"]["authors"], moves["telling, second half"]["authors"]["of"])[1] == 3


def test_a_dialogue_without_a_speaker_is_a_line_and_no_end(tmp_path: Path) -> None:
    mathdial(tmp_path)
    (tmp_path / "test.jsonl").unlink()
    with (tmp_path / "test.csv").open("a", encoding="utf-8") as file:
        file.write('3,Why?,14,9,Yes,"and so on"\n')
    result = replicated("mathdial", tmp_path)
    assert result.exit_code == 1
    broken, missing = sorted(result.stderr.splitlines())[::-1]
    assert "no speaker is named" in broken
    assert "test.jsonl: no such file" in missing


def reply(letter: str, action: str, state: str, **fields: str) -> dict[str, Any]:
    return {
        "Thoughts of Tutorbot": "",
        "Evaluation of Student Response": letter,
        "Action Based on Evaluation": action,
        "Step Number": "1",
        "Step State": state,
        "Tutorbot Response": "Look at it again.",
        **fields,
    }


def calculated(code: str, variable: str, output: str) -> list[tuple[str, Any]]:
    return [
        ("deciding_state", {"Use Python": "y", "Description": "Check it."}),
        ("use_python_state", {"Python": {"Python Code": code, "Result Variable": variable}}),
        ("python_output", f'Tutorbot calculated "{variable}" to be {output}.\n'),
    ]


CONVERSATION = [
    ("student", 'Help me with "A cart rolls 6 m in 2 s. How fast is it?"'),
    ("initial_state", reply("g) N/A", "12) N/A", "q) One of the steps")),
    ("student", "I get 12 m/s."),
    *calculated("```python\nright = 6 / 2 == 12\n```", "right", "False"),
    # The tutor confirms what the program denies.
    ("received_python_state", reply("b", "3", "q")),
    ("student", "Or 3 m/s."),
    *calculated("speed = 6 / 2", "speed", "3.0"),
    ("received_python_state", reply("b", "3", "r")),
    ("student", "Why seconds?"),
    ("deciding_state", {"Use Python": "n"}),
    ("no_python_state", reply("f", "3", "t")),
]


def transcript(answer: str, code: str, variable: str, value: str) -> dict[str, Any]:
    question = "A cart rolls 6 m in 2 s. How fast?"
    log = (
        f"Now the conversation is beginning: STUDENT: {question} ASSISTANT: "
        + json.dumps({"Use Python": "n"})
        + f" ASSISTANT: What is speed? STUDENT: {answer} ASSISTANT: "
        + json.dumps({"Use Python": "y", "Description": "Check it."})
        + " ASSISTANT: "
        + json.dumps({"Python": {"Python Code": code, "Result Variable": variable}})
        + f' PYTHON: Tutorbot calculated "{variable}" to be {value}. ASSISTANT: Let us see.'
    )
    return {"messages": [["USER", question], ["USER", answer], ["ASSISTANT", log]]}


def code_soliloquies(folder: Path) -> Path:
    for name in ("conversations", "transcripts"):
        (folder / name).mkdir()
    said = [{"from": speaker, "value": value} for speaker, value in CONVERSATION]
    (folder / "conversations" / "conversation_1.json").write_text(
        json.dumps({"id": "c1", "conversations": said}, indent=1)
    )
    (folder / "problems.json").write_text(json.dumps([{"Question": "A cart rolls 6 m in 2 s. How fast is it?"}]))
    logs = {
        "q1_correct": transcript("3 m/s", "right = 6 / 2 == 3", "right", "True"),
        # Its program calls 4 right.
        "q1_wrong": transcript("4 m/s", "right = 6 / 2 < 4", "right", "True"),
    }
    for name, log in logs.items():
        (folder / "transcripts" / f"{name}.txt").write_text(json.dumps(log))
    return folder


def test_code_soliloquies_codes_programs_and_verdicts_are_read_both_ways(tmp_path: Path) -> None:
    result = replicated("code-soliloquies", code_soliloquies(tmp_path), "--json")
    assert result.exit_code == 0, result.output
    found = figures(result)
    parts = {
        name: (row["authors"] and row["authors"]["passed"], row["ours"]["passed"])
        for title in ("Use of Python", "Codes that can be read", "Verdicts and errors")
        for name, row in found[title].items()
        if row["ours"]
    }
    assert parts == {
        "replies with Python": (2, 2),
        # One has fences, which only we take off.
        "programs that compile": (1, 2),
        "run, same output": (None, 2),
        "evaluation": (3, 4),
        "action": (3, 4),
        "step state": (3, 4),
        # A confirmation answers no question.
        "action fits evaluation": (2, 3),
        "verdicts with a program that tells": (None, 2),
        "verdicts against the program": (None, 1),
        "student is wrong": (0, 1),
    }
    [counts] = [table for table in json.loads(result.stdout)["tables"] if "counts" in table]
    assert counts["counts"]["b right"] == {"3": 2, "12": 0}


def test_without_a_sandbox_nothing_is_run_and_a_line_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = replicated("code-soliloquies", code_soliloquies(tmp_path), "--json")
    assert result.exit_code == 1
    assert result.stderr.startswith("programs are not run: gVisor is missing")
    assert figures(result)["Use of Python"]["run, same output"]["ours"] == "not run"


def test_an_experts_file_says_whether_the_first_answer_is_right(tmp_path: Path) -> None:
    found = figures(replicated("code-soliloquies", code_soliloquies(tmp_path), "--json"))
    shares = {name: row["ours"]["share"] for name, row in found["Experts' transcripts (table 1)"].items()}
    assert shares == {
        "Python usage accuracy": 1,
        "non-usage of Python": 1,
        "code compilation": 1,
        "calculation verification": 0.5,
    }


def test_scaffolds_own_tables_are_said_to_be_impossible_and_raw_plans_are_read(tmp_path: Path) -> None:
    plan = (
        '{"Problem": "Why is the sky blue?", "SubProblems": [{"Question": "What is light?"}, {"Question": "And air?"}]'
    )
    answers = [plan + "}", plan, "Sorry, as an AI language model, I cannot write a problem.", '{"Problem": "Why']
    written(tmp_path / "bio_problems.csv", [{"problems": text} for text in answers])
    shown = replicated("scaffold", tmp_path)
    assert "none of its tables can be computed" in " ".join(shown.stdout.split())
    raw = figures(replicated("scaffold", tmp_path, "--json"))["CLASS's raw answers"]
    # The second lacks its last brace, the third refuses, and the fourth stops in a sentence.
    assert (raw["can be read"]["authors"]["passed"], raw["can be read"]["ours"]["passed"]) == (1, 2)
    assert raw["refused"]["ours"]["passed"] == 1
    assert (raw["sub-problems each"]["ours"], raw["2 to 7 sub-problems"]["ours"]["passed"]) == (2, 2)
