"""Progress says how fast a run is, what it costs, and what holds it up."""

import re
from collections.abc import Iterator

import pytest

from soliloquy.cli import progress
from soliloquy.cli.progress import Figures, calls_line, count, progress_bar
from soliloquy.runs.progress import PATIENCE_SECONDS, RunCounts, WaitingCalls, hopeless, overdue
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.transports.port import Backlog


def figures(wanted: int, seconds: float, resumed_from: int = 0) -> Figures:
    times: Iterator[float] = iter([0.0, seconds, seconds])
    return Figures(wanted, resumed_from, lambda: next(times))


def test_speed_and_remaining_time_count_only_this_session() -> None:
    assert figures(100, 10, resumed_from=50).run(RunCounts(accepted=70, rejected=0)) == ["2.0/s", "15 s left"]
    assert figures(100, 600).run(RunCounts(accepted=5, rejected=0)) == ["30.0/h", "3 h 10 min left"]
    assert figures(100, 10, resumed_from=50).run(RunCounts(accepted=50, rejected=0)) == []


def test_rejections_name_their_share_and_most_frequent_reason_and_the_cost_follows() -> None:
    counts = RunCounts(accepted=0, rejected=12, reason="steps", cost=0.416)
    assert figures(100, 10).run(counts) == ["12 of 12 rejected (100%, most for steps)", "cost 0.42"]


@pytest.mark.parametrize(
    ("calls", "fault", "words"),
    [
        (WaitingCalls(number=9, oldest_seconds=1), "", ""),
        (WaitingCalls(number=9, oldest_seconds=34), "", "9 model calls wait, the oldest for 34 s"),
        (
            WaitingCalls(number=1, oldest_seconds=1, error="503"),
            "",
            "1 model call waits for 1 s; last error: 503",
        ),
        (
            WaitingCalls(number=2_000, oldest_seconds=600, batches=3, batched=1_500),
            "",
            "2000 model calls wait (1,500 in 3 batches), the oldest for 10 min",
        ),
        (WaitingCalls(error="503"), "waits for the model: 503", "last error: 503"),
        (WaitingCalls(error="503"), "no gVisor", "last error: 503; no gVisor"),
    ],
)
def test_calls_are_named_once_they_hold_the_work_up(calls: WaitingCalls, fault: str, words: str) -> None:
    assert calls_line(calls, fault) == words


def test_a_log_gets_plain_lines_and_few(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = RunCounts(accepted=2, rejected=1, reason="length")
    with progress_bar(wanted=4, resumed_from=0) as show:
        show(counts, "")
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
            show(1, "missed 0", "")
            show(1, "missed 0", "2 model calls wait; last error: cannot connect")
    assert capsys.readouterr().err.splitlines() == [
        "1 of 3 cases, missed 0",
        "1 of 3 cases, missed 0; 2 model calls wait; last error: cannot connect",
    ]
