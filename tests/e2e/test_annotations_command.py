"""From a dataset to people and back: labels, a card, calibrated rules, preferences, and a report with experts in it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runs import SOLILOQUY, command, said

Values = Callable[[int, str], dict[str, Any]]
YES = {"usage": "yes", "non_usage": "none", "compilation": "yes", "verification": "yes"}


def says(*arguments: object) -> str:
    done = said([SOLILOQUY, *map(str, arguments)])
    assert done.returncode == 0, done.stderr
    return done.stdout


def tells(*arguments: object) -> Any:
    return json.loads(says(*arguments, "--json"))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("annotated") / "dataset"
    assert said(command(out, conversations=4, quiet=True)).returncode == 0
    return out


def annotated(tasks: Path, scheme: str, values: Values) -> Path:
    """Writes what two scripted annotators say of each task; `values` has the place of the task, and who says it."""
    items = [json.loads(line)["item"] for line in tasks.read_text("utf-8").splitlines()]
    rows = [
        {"item": item, "annotator": name, "scheme": scheme, "values": values(place, name)}
        for place, item in enumerate(items)
        for name in ("ada", "ben")
    ]
    file = tasks.with_name(f"said-of-{tasks.name}")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


def test_labels_of_people_reach_the_dataset_its_card_and_the_rules(dataset: Path, tmp_path: Path) -> None:
    tasks, out, scheme = tmp_path / "tasks.jsonl", tmp_path / "labelled", ("--scheme", "soliloquy")
    says("annotations", "sample", dataset, *scheme, "--items", 12, "--out", tasks)

    def verdict(place: int, name: str) -> dict[str, Any]:
        # They disagree about the last item, of which there is then no label.
        is_wrong = place % 3 == 0 or (place == 11 and name == "ada")
        return YES | {"verification": "no" if is_wrong else "yes"}

    file = annotated(tasks, "soliloquy", verdict)
    alpha = tells("annotations", "agreement", file, *scheme)["questions"]["verification"]["krippendorff_alpha"]
    assert alpha["low"] < alpha["value"] < 1
    assert "47 labels of 12 items" in says("annotations", "apply", file, dataset, *scheme, "--out", out)
    assert "4 accepted" in says("verify", out)
    says("check", out)
    says("report", out)
    card = (out / "README.md").read_text("utf-8")
    interval = f"{alpha['value']:.2f} ({alpha['low']:.2f} to {alpha['high']:.2f})"
    assert f"| A tutor that calculates | verification | 12 | 2 | {interval} |" in card
    assert not {'"ada"', '"ben"'} & {*re.findall(r'"\w*"', (out / "manifest.json").read_text("utf-8"))}
    asked = (*scheme, "--question", "verification", "--value", "no")
    [found] = tells("annotations", "calibrate", out, *asked)
    assert (found["judge"], found["items"], found["by_people"], found["by_judge"]) == ("any rule", 11, 4, 0)
    assert (found["precision"]["value"], found["recall"]["value"]) == (None, 0)


def test_what_people_prefer_of_two_models_becomes_preferences(dataset: Path, tmp_path: Path) -> None:
    drawn = ("--turn", 2, "--samples", 2)
    for name, noise in (("one", "none"), ("other", "harsh")):
        says("fork", dataset, *drawn, "--noise", noise, "--out", tmp_path / name)
    tasks, scheme = tmp_path / "pairs.jsonl", ("--scheme", "reply_preference")
    sides = (tmp_path / "one", "--beside", tmp_path / "other")
    says("annotations", "sample", *sides, *scheme, "--out", tasks)
    file = annotated(tasks, "reply_preference", lambda place, name: {"better": "side_1"})
    pairs = tells("annotations", "preferences", file, tasks, *scheme, "--out", tmp_path / "preferences")["pairs"]
    asked = [json.loads(line) for line in tasks.read_text("utf-8").splitlines()]
    rows = [json.loads(line) for line in (tmp_path / "preferences" / "pairs.jsonl").read_text().splitlines()]
    assert 0 < pairs == len(rows) == sum("preference" in task for task in asked)
    assert {row["chosen"][0]["content"] for row in rows} <= {task["preference"]["answers"][0] for task in asked}


def test_experts_stand_in_the_report_of_an_evaluation(tmp_path: Path) -> None:
    cases, scheme = ("--questions", 3, "--seed", 9, "--quiet"), ("--scheme", "soliloquy")
    for name, noise in (("one", "none"), ("other", "harsh")):
        says("evaluate", "soliloquy", *cases, "--noise", noise, "--out", tmp_path / name)
    tasks, pairs = tmp_path / "cases.jsonl", tmp_path / "pairs.jsonl"
    says("annotations", "sample", tmp_path / "other", *scheme, "--out", tasks)
    file = annotated(tasks, "soliloquy", lambda place, name: YES | {"verification": ("yes", "no")[place % 2]})
    found = tells("evaluate", "people", tmp_path / "other", file, *scheme)
    assert found["questions"]["verification"]["agreement"]["kappa"]["items"] > 0
    assert "## What people say" in (tmp_path / "other" / "report.md").read_text("utf-8")
    sides = (tmp_path / "one", "--beside", tmp_path / "other")
    says("annotations", "sample", *sides, "--scheme", "reply_preference", "--out", pairs)
    better = annotated(pairs, "reply_preference", lambda place, name: {"better": "side_1"})
    compared = ("compare", tmp_path / "one", tmp_path / "other", "--annotations", better)
    told = says("evaluate", *compared, "--tasks", pairs)
    assert "people prefer scripted, noise harsh: " in told
    assert "kappa of people and metrics" in told
    refused = said([SOLILOQUY, "evaluate", *map(str, compared)])
    assert "--annotations and --tasks require each other" in refused.stderr
