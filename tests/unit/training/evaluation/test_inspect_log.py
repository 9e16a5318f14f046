"""Inspect's own library reads an evaluation as a log."""

from pathlib import Path

import pytest

from soliloquy_training.evaluation.report import write_report
from tests.tools import needs_tools, told
from tests.unit.papers.soliloquy.evaluate.cases import NOISY, results, shared_cases
from tests.unit.training.evaluation.evaluations import written

READ = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

[place] = list_eval_logs(sys.argv[1])
log = read_eval_log(place)
print(json.dumps({
    "status": log.status,
    "names": [log.eval.task, log.eval.model, log.eval.dataset.name],
    "figures": {score.name: score.metrics["mean"].value for score in log.results.scores},
    "samples": {
        f"{one.id} {one.epoch}": [
            {name: score.value for name, score in one.scores.items()},
            [[message.role, message.text] for message in one.messages],
        ]
        for one in log.samples
    },
    "listed": [f"{one.id} {one.epoch}" for one in read_eval_log_sample_summaries(place)],
}))
"""


@needs_tools
@pytest.mark.thorough
def test_inspect_shows_each_case_with_its_scores_and_what_was_said(tmp_path: Path) -> None:
    found = results(NOISY)
    written(tmp_path, "tuned", shared_cases(), found)
    log = told(READ, tmp_path)
    assert log["status"] == "success"
    assert log["names"] == ["soliloquy", "tuned", "3 questions of physics, seed 5"]
    assert {"usage", "verification"} <= {*log["figures"]}
    ids = [f"{result.case.id} 1" for result in found]
    assert log["listed"] == ids
    for result, name in zip(found, ids, strict=True):
        scores, messages = log["samples"][name]
        assert scores == {metric: int(passed) for metric, passed in result.passed.items()}
        row = result.as_json()
        said = [["user", row["student"]], ["assistant", row.get("reply")]]
        assert messages == [message for message in said if message[1]]


class Reply:
    """A reply to a history; one dialogue has several."""

    calls = ()

    def as_json(self) -> dict[str, object]:
        return {"case": "d1", "question": "How many?", "student": "7", "reply": "Why 7?", "passed": {}}


@needs_tools
@pytest.mark.thorough
def test_replies_to_one_dialogue_are_its_repetitions(tmp_path: Path) -> None:
    figures = {"metrics": {}, "measures": {"bleu": 12.5, "likeness": None}}
    report = {"protocol": "mathdial", "name": "tuned", "cases": {"put": "", "sha256": ""}, "figures": figures}
    write_report(tmp_path, report, [Reply(), Reply()], [])
    log = told(READ, tmp_path)
    assert [*log["samples"]] == ["d1 1", "d1 2"]
    assert log["figures"] == {"bleu": 12.5}
