"""What rules send back of published conversations is compared with labels that name a place and hold no text."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import replay, soliloquy_rules
from benchmarks.__main__ import benchmarks
from benchmarks.scaffold_rules import SETS, judge, judge_messages
from benchmarks.soliloquies import conversations
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.growing import DESK

NAME = "conversation_7_v1_abc.json"
SOLUTION = {
    "Question": "A cart of 40 kg speeds up at 3 m/s² over 25 m. What work is done on it?",
    "Original Solution": "F = 40 kg × 3 m/s² = 120 N and W = 120 N × 25 m = 3000 J",
    "Detailed Solution": "Step 1) The force: F = 40 kg × 3 m/s² = 120 N. Step 2) The work: W = 120 N × 25 m = 3000 J.",
    "Solution Outline": "Step 1) Find the force. Step 2) Find the work.",
}
REPLIES = [
    ("g", "12", "1", "q", "Which force acts on the cart?"),
    ("a", "1", "1", "q", "Not quite. It should be 120 N. Can you try once more?"),
    ("b", "3", "1", "r", "Right! And what work does it do on the way?"),
    ("b", "3", "2", "t", "Well done, that is all."),
]
MESSAGES = ["How do I begin?", "I think that it is 43 N.", "Then it must be 120 N.", "So I come to 3000 J."]


def said() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for message, (evaluation, action, step, state, reply) in zip(MESSAGES, REPLIES, strict=True):
        fields = {
            "Thoughts of Tutorbot": "I look at the answer.",
            "Evaluation of Student Response": evaluation,
            "Action Based on Evaluation": action,
            "Step Number": step,
            "Step State": state,
            "Tutorbot Response": reply,
        }
        decision = [{"from": "deciding_state", "value": {"Use Python": "n"}}] if found else []
        replying = "no_python_state" if found else "initial_state"
        found += [{"from": "student", "value": message}, *decision, {"from": replying, "value": fields}]
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / NAME).write_text(json.dumps({"conversations": said()}), "utf-8")
    (tmp_path / "solution_7_xyz.json").write_text(json.dumps(SOLUTION), "utf-8")
    labels = tmp_path / "labels.jsonl"
    rows = [
        {"file": NAME, "turn": 2, "faults": ["early_answer"], "set": "seen"},
        {"file": NAME, "turn": 3, "faults": ["repeated"], "set": "unseen"},
    ]
    labels.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    monkeypatch.setattr(soliloquy_rules, "LABELS", labels)
    return tmp_path


def test_what_a_reader_agrees_with_and_what_is_missed_are_counted_by_rule_and_by_turn(folder: Path) -> None:
    counts = json.loads(CliRunner().invoke(benchmarks, ["soliloquy-rules", str(folder), "--json"]).output)
    assert counts["early_answer"] == {"sent back": 1, "labelled": 1, "right": 1, "marked": 1}
    assert counts["repeated"] == {"labelled": 1, "missed": 1}
    assert counts["turns seen"] == {"sent back": 1, "labelled": 1, "right": 1}
    assert counts["turns unseen"] == {"labelled": 1, "missed": 1}


def test_a_folder_without_conversations_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(benchmarks, ["soliloquy-rules", str(tmp_path)])
    assert result.exit_code == 2
    assert "has no conversations with solutions" in result.output


async def test_what_is_sent_back_of_a_recorded_conversation_is_answered_by_the_scripted_model(folder: Path) -> None:
    ((_, recorded),) = conversations(folder)
    played = await replay.finished(recorded, 0, ScriptedEngine(), DESK, asyncio.Semaphore())
    counts = replay.counts([recorded], [played])
    assert (counts["kept as published"], counts["kept when mended"]) == (1, 1)
    # The scripted student claims its results, so the tutor has to calculate; what was recorded is then no reply.
    assert (counts["sent back for early_answer"], counts["sent back for uncalculated"]) == (1, 2)
    recorded_replies = [reply for *_, reply in REPLIES]
    # A recorded message that would say again what was said is written anew.
    assert [turn.tutor.text in recorded_replies for turn in played.turns] == [True, False, False, False]
    assert [turn.student.text for turn in played.turns if turn.student.text in MESSAGES] == MESSAGES[:3]


# False rejections and false acceptances of each rule.
FIRST = {
    "rationale": (0, 0),
    "arithmetic": (0, 1),
    "revealed": (0, 0),
    "questions": (0, 0),
    "summary": (0, 0),
    "off_task": (0, 0),
}
UNSEEN = {
    "rationale": (0, 1),
    "arithmetic": (1, 0),
    "revealed": (0, 0),
    "questions": (0, 0),
    "summary": (0, 0),
    "off_task": (1, 1),
}


@pytest.mark.parametrize(("name", "count", "errors"), [("first", 300, FIRST), ("unseen", 100, UNSEEN)])
def test_no_rule_rejects_or_accepts_more_replies_in_error_than_listed(
    name: str, count: int, errors: dict[str, tuple[int, int]]
) -> None:
    found = judge(SETS[name])
    assert found.keys() == errors.keys()
    for rule, (rejections, acceptances) in errors.items():
        counts = found[rule].counts
        assert counts["labelled"] == count
        assert counts["false rejections"] <= rejections, found[rule].faults
        assert counts["false acceptances"] <= acceptances, found[rule].faults


def test_few_messages_that_show_their_state_are_sent_back_and_none_that_does_not_passes() -> None:
    readings = judge_messages()
    assert (readings.counts["labelled"], readings.counts["faults"]) == (300, 23)
    assert readings.counts["false rejections"] <= 3, readings.faults
    # "The price goes from 480 down to 408 euros" is open: nothing says that 480 is given.
    assert readings.counts["false acceptances"] <= 1, readings.faults
