"""The tables of papers come from folders like those that their authors published, and a bad folder is told in lines."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from soliloquy.cli.main import commands


def replicated(paper: str, folder: Path, *options: str) -> Result:
    return CliRunner().invoke(commands, ["replicate", paper, str(folder), *options], env={"COLUMNS": "80"})


def figures(result: Result) -> dict[str, dict[str, Any]]:
    """Maps each title and measure to its figures."""
    tables = json.loads(result.stdout)["tables"]
    return {table["title"]: {row["measure"]: row for row in table["rows"]} for table in tables if "rows" in table}


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
    written(folder / "egsm.csv", [one | {"topic": "fruit"} for one in problems])
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
    # One program of three returns what is stated: the second says 25, and the third fails.
    assert found["Programs run in our sandbox"]["approved: same answer"]["ours"]["part"] == 1


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
