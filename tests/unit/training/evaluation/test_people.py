"""People's answers about the cases of an evaluation stand in its report, beside the automatic judgement."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from soliloquy.annotation.rows import Annotation
from soliloquy.annotation.scheme import scheme_of
from soliloquy.runtime.failure import Failure
from soliloquy_papers.soliloquy.evaluate.judging import METRICS
from soliloquy_training.evaluation.comparison import read
from soliloquy_training.evaluation.people import add_people, case_pairs, case_tasks, judged_by_people, preferred
from tests.unit.papers.soliloquy.evaluate.cases import NOISY, SCRIPTED, drawn, results
from tests.unit.training.evaluation.evaluations import written

EXPERTS, PREFERENCE = scheme_of("soliloquy"), scheme_of("reply_preference")


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    return written(tmp_path / "noisy", "noisy", drawn(4), results(NOISY, drawn(4)))


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "cases.jsonl").read_text("utf-8").splitlines()]


def annotations(item: str, scheme: str, values: dict[str, Any]) -> list[Annotation]:
    return [Annotation(item=item, annotator=name, scheme=scheme, values=values) for name in ("ada", "ben")]


def test_an_expert_sees_the_case_and_the_program_and_no_verdict(noisy: Path) -> None:
    tasks = case_tasks(noisy, EXPERTS, count=99, seed=1)
    by_case = {row["case"]: row for row in rows(noisy) if row["reply"]}
    assert {task["item"] for task in tasks} == by_case.keys()
    for task in tasks:
        row, shown = by_case[task["item"]], task["shown"]
        assert [one["text"] for one in shown["messages"][-2:]] == [row["student"], row["reply"]]
        assert len(shown["messages"]) == len(row["history"]) + 2
        assert {*shown} - {"program"} == {"question", "solution", "messages"}
        assert ("program" in shown) == bool(row["attempts"])
    with pytest.raises(Failure, match="a case of soliloquy is a turn, and scaffold is of a conversation"):
        case_tasks(noisy, scheme_of("scaffold"), count=1, seed=1)


def test_peoples_share_and_the_kappa_of_both_stand_in_the_report(noisy: Path) -> None:
    given, flags = [], []
    for place, row in enumerate(rows(noisy)):
        values = {name: {True: "yes", False: "no"}.get(row["passed"].get(name), "none") for name in METRICS}
        if place == 0:
            values["verification"] = {"yes": "no", "no": "yes"}[values["verification"]]
        given += annotations(row["case"], "soliloquy", values)
        if values["verification"] != "none":
            flags.append((values["verification"] == "yes", row["passed"]["verification"]))
    people, automatic = zip(*flags, strict=True)
    found = judged_by_people(noisy, given, EXPERTS)
    verification = found["questions"]["verification"]
    assert (verification["people"]["passed"], verification["people"]["of"]) == (sum(people), len(people))
    assert verification["automatic"]["passed"] == sum(automatic)
    kappa = verification["agreement"]["kappa"]
    assert kappa["value"] == pytest.approx(cohen_kappa_score(people, automatic))
    assert kappa["low"] < kappa["value"] < kappa["high"]
    assert verification["alpha"]["value"] == 1
    before = (noisy / "report.md").read_text("utf-8")
    for _ in range(2):
        add_people(noisy, found)
    page = (noisy / "report.md").read_text("utf-8")
    assert page.startswith(before)
    assert page.count("## What people say") == 1
    assert json.loads((noisy / "report.json").read_bytes())["people"] == found
    with pytest.raises(Failure, match="reply_preference has no answers yes or no for usage"):
        judged_by_people(noisy, annotations(rows(noisy)[0]["case"], "reply_preference", {"better": "same"}), PREFERENCE)


def test_two_systems_are_preferred_by_name_however_they_stood(noisy: Path, tmp_path: Path) -> None:
    changed = [
        replace(
            one,
            evidence={**one.evidence, "reply": f"{one.evidence['reply']} So."},
            passed=METRICS.fromkeys(one.passed, True),
        )
        for one in results(NOISY, drawn(4))
    ]
    better = written(tmp_path / "better", "better", drawn(4), changed)
    tasks = case_pairs(noisy, better, PREFERENCE, count=99, seed=3)
    assert {tuple(task["order"]) for task in tasks} == {("noisy", "better"), ("better", "noisy")}
    given = []
    for place, task in enumerate(tasks):
        side = f"side_{task['order'].index('noisy' if place == 0 else 'better') + 1}"
        given += annotations(task["item"], "reply_preference", {"better": "same" if place == 1 else side})
    for folders in ([noisy, better], [better, noisy]):
        found = preferred(read(folders), given, tasks, PREFERENCE)
        shares = {name: (share["passed"], share["of"]) for name, share in found["shares"].items()}
        assert shares == {"noisy": (1, len(tasks) - 1), "better": (len(tasks) - 2, len(tasks) - 1)}
        assert found["same"] == 1
        assert found["kappa"]["items"] == len(tasks)
    other = written(tmp_path / "other", "other", drawn(4), results(SCRIPTED, drawn(4)))
    with pytest.raises(Failure, match="the tasks compare better and noisy: give these two"):
        preferred(read([noisy, other]), given, tasks, PREFERENCE)
    with pytest.raises(Failure, match="answer no case differently"):
        case_pairs(noisy, noisy, PREFERENCE, count=1, seed=1)
