"""Progress says how fast a run is, what it costs, and what holds it up."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from soliloquy.cli import progress
from soliloquy.cli.progress import Pace, calls_line, count, progress_bar, run_figures
from soliloquy.cli.runs_view import next_commands, summary
from soliloquy.runs.progress import PATIENCE_SECONDS, RunCounts, WaitingCalls, hopeless, overdue
from soliloquy.runtime.model.spending import summed
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.transports.port import Backlog
from tests.cases import each_case


def told(wanted: int, *done: tuple[float, int], resumed_from: int = 0) -> list[list[str]]:
    """The words at each of these times, with so many done."""
    times: Iterator[float] = iter([0.0, *(at for at, _ in done)])
    pace = Pace(wanted, resumed_from, lambda: next(times))
    return [pace.at(number) for _, number in done]


def test_speed_and_remaining_time_count_only_this_session() -> None:
    assert told(100, (1, 51), (11, 71), resumed_from=50)[-1] == ["2.0/s", "14 s left"]
    assert told(100, (120, 1), (720, 6))[-1] == ["30.0/h", "3 h 8 min left"]
    assert told(100, (10, 50), resumed_from=50) == [[]]


def test_nothing_is_foretold_while_the_first_ones_come_in_together() -> None:
    # Sixty-four at once, each of which takes half a minute; the second wave is on its way at 60 s.
    first_wave, second_wave = [(30, 1), (31, 40), (34, 64)], [(60, 65), (65, 128), (90, 129)]
    assert told(192, *first_wave) == [[], [], []]
    assert told(192, *first_wave, *second_wave)[3:] == [
        ["2.1/s", "60 s left"],
        ["3.6/s", "18 s left"],
        ["2.1/s", "30 s left"],
    ]


def test_rejections_name_their_share_and_most_frequent_reason_and_the_cost_follows() -> None:
    counts = RunCounts(accepted=0, rejected=12, reason="steps", cost=0.416)
    assert run_figures(counts) == ["12 of 12 rejected (100%, most for steps)", "cost 0.42"]


@each_case
def test_calls_are_named_once_they_hold_the_work_up(calls: dict[str, Any], fault: str, words: str) -> None:
    assert calls_line(WaitingCalls(**calls), fault) == words


@pytest.mark.parametrize("colours", ["", "1"])
def test_a_log_gets_plain_lines_and_few(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, colours: str
) -> None:
    # Notebooks set it, and are no terminal.
    monkeypatch.setenv("FORCE_COLOR", colours)
    counts = RunCounts(accepted=2, rejected=1, reason="length")
    with progress_bar(wanted=4, resumed_from=0) as show:
        show(RunCounts(accepted=1, rejected=0), "")
        time.sleep(0.1)
        monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
        show(counts, "the sandbox starts")
    [line] = capsys.readouterr().err.splitlines()
    assert "\x1b" not in line
    assert re.fullmatch(
        r"2 of 4 conversations, .*/s, .* left, 1 of 3 rejected \(33%, most for length\); the sandbox starts", line
    )


def endpoint(*, failing: float, refused: bool = False) -> EndpointStatus:
    return EndpointStatus(
        where="far (URL)",
        waiting=1,
        oldest_seconds=failing,
        in_flight=1,
        failing_seconds=failing,
        error="503",
        refused=refused,
    )


def test_services_where_events_wait_too_long_are_named_but_problems_may_wait_for_admission() -> None:
    waits = [("curriculum", "problem.submitted", 60.0), ("tutor", "student.replied", 60.0), ("student", "a", 1.0)]
    backlog = [Backlog(group=group, topic=topic, events=3, oldest_seconds=age) for group, topic, age in waits]
    assert overdue(backlog) == "events wait for more than 60 s at tutor: see its log"
    assert overdue(backlog[:1]) == ""


def test_a_run_waits_a_minute_for_an_endpoint_or_as_long_as_it_is_told_to() -> None:
    patient, failing = endpoint(failing=PATIENCE_SECONDS - 1), endpoint(failing=PATIENCE_SECONDS)
    assert hopeless([patient], wait=False) == ""
    assert "far (URL) answered no call for 60 s (503)" in hopeless([patient, failing], wait=False)
    assert hopeless([failing], wait=True) == ""
    assert hopeless([endpoint(failing=0, refused=True)], wait=True) == "503"


def test_what_holds_cases_up_is_told_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    for quiet in (False, True):
        with count("cases", 3, quiet=quiet) as show:
            show(0, ["missed 0"], "")
            show(1, ["missed 0"], "2 model calls wait; last error: cannot connect")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "0 of 3 cases, missed 0"
    assert second == "1 of 3 cases, missed 0; 2 model calls wait; last error: cannot connect"


REPORT = {
    "requested": 20,
    "accepted": 20,
    "rejected": 2,
    "failed": 0,
    "enrichment": {},
    "unfit": {},
    "answers": {},
    "asked_again": {},
    "turns": 1_120,
    "python_turns": 60,
    "executions": {"ok": 60, "timeout": 1},
    "parse": {"strict": 400, "repaired": 3},
    "verdicts": {"agree": 50, "contradict": 0},
    "verification": {"none": 2, "program": 40, "step": 20},
    "tokens": {"prompt": 62_230, "completion": 4_375},
    "cost": 0.0,
    "unpriced": [],
    "spent": summed([]),
    "seconds": 6.4,
}


def test_a_summary_is_in_words_and_leaves_out_what_did_not_occur() -> None:
    assert summary(REPORT, "mine") == {
        "conversations": "20 accepted of 20, 2 rejected",
        "turns": "1,120, 60 with a calculation",
        "programs": "60 ran, 1 timeout",
        "verdicts": "40 by a program, 20 by a step worked through before, 2 unverified",
        "tutor and program": "50 agree",
        "model's answers": "403, 3 repaired",
        "tokens": "62,230 read, 4,375 written",
        "duration": "6.4 s",
        "dataset": "mine",
    }


def test_the_prompts_that_were_asked_again_most_are_named_with_their_share_and_commonest_reason() -> None:
    again = {
        "scaffold/tutoring: questions": 6,
        "scaffold/tutoring: unusable": 2,
        "scaffold/student: state": 3,
        "scaffold/judging: unusable": 1,
        "scaffold/verifying: unusable": 2,
    }
    answers = {"scaffold/tutoring": 50, "scaffold/student": 60, "scaffold/judging": 5, "scaffold/verifying": 20}
    told = summary(REPORT | {"answers": answers, "asked_again": again}, "mine")
    assert told["asked again most"] == (
        "scaffold/tutoring 16% (questions), scaffold/student 5% (state), scaffold/verifying 10% (unusable)"
    )


def test_what_was_billed_is_told_with_what_got_lost_and_an_unknown_cost_is_said_to_be_unknown() -> None:
    account = {"requests": 450, "prompt": 70_000, "cached": 14_000, "completion": 5_000, "reasoning": 900}
    billed = dict.fromkeys(("cache_write", "dollars", "unpriced"), 0) | account
    spent = summed([billed | {"outcome": "answered", "dollars": 0.25}, billed | {"outcome": "lost", "requests": 2}])
    told = summary(REPORT | {"cost": None, "unpriced": ["tutor"], "spent": spent}, "mine")
    assert told["cost"].startswith("unknown, no price is known for tutor: set prompt_price")
    assert told["billed"] == (
        "450 requests, 70,000 read (20% from a cache), 5,000 written (900 of them thoughts), 0.25 USD; "
        "2 more without an answer, 70,000 tokens at most"
    )


def test_the_next_commands_can_be_pasted_whatever_the_folder_is_called() -> None:
    assert next_commands("mine", rejected=0) == "Read it: soliloquy show mine\nSee its figures: soliloquy report mine"
    assert "asked again: soliloquy show mine 4e57" in next_commands("mine", rejected=0, again="4e57")
    assert "show 'my äpples' --rejected" in next_commands("my äpples", rejected=1)
