"""Word problems of others are judged by a command, with classifiers that another command learned."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.problems import problems
from tests.unit.papers.mathwell.labelled import labelled


def ran(*arguments: object) -> Result:
    return CliRunner().invoke(problems, [str(argument) for argument in arguments])


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def rows_of(folder: str) -> list[dict[str, Any]]:
    return [
        {
            "question": problem.question,
            "solution": problem.code,
            "answer": problem.answer,
            "topic": problem.topic,
            **{criterion.value: label for criterion, label in labels.items()},
        }
        for problem, labels, _ in labelled(folder)
    ]


# The names that labels have in the published files.
NOUNS = {"solvable": "solvability", "accurate": "accuracy", "appropriate": "appropriateness"}


def test_classifiers_learned_from_published_labels_have_to_agree_with_the_rules(tmp_path: Path) -> None:
    learned = tmp_path / "criteria.npz"
    rows = [{NOUNS.get(name, name): cell for name, cell in row.items()} for row in rows_of("made_with")]
    table = ran("calibrate", "--labels", written(tmp_path / "a.jsonl", rows), "--out", learned)
    assert table.exit_code == 0, table.output
    assert "AUC" in table.output
    source = written(tmp_path / "b.jsonl", rows_of("held_out")[:40])
    alone = json.loads(ran("score", source, "--json").output)
    verdicts = tmp_path / "verdicts.jsonl"
    both = json.loads(ran("score", source, "--classifiers", learned, "--out", verdicts, "--json").output)
    assert alone["problems"] == both["problems"] == 40
    assert both["meet_all"] <= alone["meet_all"]
    found = [json.loads(line) for line in verdicts.read_text("utf-8").splitlines()]
    assert sum(row["meets_all"] for row in found) == both["meet_all"]
    assert all(row["objections"] for row in found if not row["meets_all"])


def test_the_file_that_generate_writes_is_judged(tmp_path: Path) -> None:
    rows = [row | {"answer": {"value": row["answer"], "unit": ""}} for row in rows_of("held_out")[:3]]
    plain = written(tmp_path / "plain.jsonl", rows_of("held_out")[:3])
    found = ran("score", written(tmp_path / "generated.jsonl", rows), "--json")
    assert json.loads(found.output) == json.loads(ran("score", plain, "--json").output)


def test_what_can_be_measured_comes_beside_the_verdicts(tmp_path: Path) -> None:
    rows = rows_of("held_out")[:20]
    source = written(tmp_path / "a.jsonl", [*rows, rows[0]])
    told = tmp_path / "told.jsonl"
    measures = json.loads(ran("score", source, "--out", told, "--json").output)["measures"]
    found = [json.loads(line) for line in told.read_text("utf-8").splitlines()]
    for name in ("reading_grade", "dale_chall", "tokens"):
        assert measures[name] == pytest.approx(fmean(row[name] for row in found), abs=0.01)
    assert measures["distinct_operations"] == pytest.approx(fmean(len(row["operations"]) for row in found), abs=0.01)
    assert measures["near_duplicates"] == 1
    assert measures["told_again"] == 0
    assert 5 < measures["programs"] <= 20
    assert 0 < measures["self_similarity"] < 50
    assert 0 < measures["reading_grade"] < 8 < measures["tokens"]
    assert 5 < measures["dale_chall"] < 11
    assert measures["perplexity"] is measures["bertscore"] is None
    assert "MATHWELL (paper)" in ran("score", source).output


def test_references_are_for_an_encoder(tmp_path: Path) -> None:
    source = written(tmp_path / "a.jsonl", rows_of("held_out")[:2])
    assert "--references requires --bertscore" in ran("score", source, "--references", source).output


def test_a_row_that_is_no_word_problem_is_named_and_the_others_are_judged(tmp_path: Path) -> None:
    row = {"question": "How many are 2 + 3?", "solution": "def solution():\n    return 5", "answer": 5}
    for wrong, because in (
        ({"question": " "}, "question: is missing"),
        ({"solvability": "perhaps"}, "solvability: 'perhaps' is not a label"),
    ):
        source = written(tmp_path / "rows.jsonl", [row, row | wrong, row])
        result = ran("score", source, "--json")
        assert f"rows.jsonl:2: {because}" in result.stderr
        assert (result.exit_code, json.loads(result.stdout)["problems"], json.loads(result.stdout)["refused"]) == (
            0,
            2,
            1,
        )
    nothing = ran("score", written(tmp_path / "rows.jsonl", [row | {"question": ""}]))
    assert (nothing.exit_code, "none of 1 rows is a word problem" in nothing.output) == (2, True)


@pytest.mark.parametrize("answer", ["(62, 50)", "five", "[1, 2]", {"value": "a lot"}, None, True])
def test_an_answer_that_is_no_number_is_left_to_the_judges(answer: object, tmp_path: Path) -> None:
    row = {"question": "Tom has 2 bags of 3 nuts. How many nuts?", "solution": "def solution():\n    return 2 * 3"}
    found = json.loads(ran("score", written(tmp_path / "rows.jsonl", [row | {"answer": answer}]), "--json").output)
    assert (found["problems"], found["accurate"]["yes"]) == (1, 1)


def test_nobody_says_whether_a_program_is_accurate_where_there_is_none(tmp_path: Path) -> None:
    row = {"question": "Tom has 2 bags of 3 nuts. How many nuts?", "solution": "2 * 3 = 6 nuts.", "answer": 6}
    found = json.loads(ran("score", written(tmp_path / "rows.jsonl", [row]), "--json").output)
    assert [found[name][told] for name, told in (("solvable", "yes"), ("accurate", "undecided"))] == [1, 1]
