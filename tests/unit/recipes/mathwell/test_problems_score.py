"""Word problems of others are judged by a command, with classifiers that another command learned."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.problems import problems
from tests.unit.recipes.mathwell.labelled import labelled


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
        for problem, labels in labelled(folder)
    ]


def test_learned_classifiers_have_to_agree_with_the_rules(tmp_path: Path) -> None:
    learned = tmp_path / "criteria.npz"
    table = ran("learn-criteria", "--labelled", written(tmp_path / "a.jsonl", rows_of("made_with")), "--out", learned)
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
    assert 0 < measures["self_similarity"] < 50
    assert 0 < measures["reading_grade"] < 8 < measures["tokens"]
    assert 5 < measures["dale_chall"] < 11
    assert measures["perplexity"] is measures["bertscore"] is None
    assert "MATHWELL (paper)" in ran("score", source).output


def test_references_are_for_an_encoder_and_a_folder_without_one_is_named(tmp_path: Path) -> None:
    source = written(tmp_path / "a.jsonl", rows_of("held_out")[:2])
    assert "--references requires --bertscore" in ran("score", source, "--references", source).output
    assert "holds no encoder: it lacks config.json" in ran("score", source, "--bertscore", tmp_path).output
    assert "holds no language model" in ran("score", source, "--perplexity", tmp_path).output


def test_a_row_that_is_no_word_problem_is_named(tmp_path: Path) -> None:
    row = {"question": "How many are 2 + 3?", "solution": "def solution():\n    return 5", "answer": 5}
    for wrong, because in (
        ({"solution": None}, "question or solution is missing"),
        ({"answer": "five"}, "answer: 'five' is not a number"),
        ({"solvable": "perhaps"}, "solvable: 'perhaps' is not a label"),
    ):
        result = ran("score", written(tmp_path / "rows.jsonl", [row, row | wrong]))
        assert result.exit_code == 2
        assert f"rows.jsonl:2: {because}" in result.output
