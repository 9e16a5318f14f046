"""The figures of the overview say no more than the dataset does."""

import re
from collections import Counter
from collections.abc import Iterable

import pytest

from soliloquy.dataset.durations import Durations
from soliloquy.dataset.report import sample
from soliloquy.dataset.report.findings import Findings
from soliloquy.dataset.report.overview import headline, sections
from soliloquy.dataset.report.sample import CheckedSample
from soliloquy.dataset.tables import percent, share
from soliloquy.problems.bank.bank import catalogue
from soliloquy.v1.conversation_pb2 import VERIFICATION_NONE, VERIFICATION_PROGRAM, Conversation
from tests.datasets import accepted_rows
from tests.unit.dataset.test_statistics import conversation


def found_in(*conversations: Conversation, families: bool = False) -> Findings:
    found = Findings(sample=CheckedSample(len(conversations)), families=catalogue if families else lambda bank: {})
    found.add(accepted_rows(conversations), rejected=False)
    return found


def text(parts: Iterable[str]) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", "".join(parts)).split())


def test_verdicts_of_a_dataset_that_records_no_support_are_not_called_verified() -> None:
    strip = text(headline(found_in(conversation())))
    assert "the dataset does not say what its" in strip
    assert "unknown" in strip
    assert "are unverified" not in strip


def test_a_single_unverified_verdict_of_thousands_is_not_rounded_away() -> None:
    found = Findings()
    found.accepted.verification.update({"program": 9_999, "none": 1})
    assert "1 of 10,000 verdicts on an answer are unverified: nothing supports them 0.1 %" in text(headline(found))


def test_only_all_of_them_make_a_hundred_percent() -> None:
    found = Findings()
    found.accepted.conversations, found.rejected.conversations = 9_999, 1
    assert text(headline(found)).endswith("9,999 of 10,000 generated conversations accepted 99.9 %")
    assert [share(part, 10_000) for part in (0, 1, 6_666, 9_999, 10_000)] == [
        "0 % (0 of 10,000)",
        "0.1 % (1 of 10,000)",
        "66.7 % (6,666 of 10,000)",
        "99.9 % (9,999 of 10,000)",
        "100 % (10,000 of 10,000)",
    ]


def test_verdicts_are_counted_by_what_supports_them() -> None:
    made = conversation()
    made.turns[0].verification, made.turns[1].verification = VERIFICATION_NONE, VERIFICATION_PROGRAM
    found = found_in(made)
    assert "1 of 2 verdicts on an answer are unverified" in text(headline(found))
    cards = text(sections(found))
    assert f"2 verdicts on an answer; {len(made.turns) - 2} of {len(made.turns)} turns give none" in cards
    assert "nothing: unverified 1 50 %" in cards


def test_only_answers_of_the_student_count_as_messages_sent_back() -> None:
    made = conversation()
    for role in ("student", "composer", "codegen"):
        made.turns[0].rejected.add(role=role, rule="state")
    said = sum(turn.HasField("student") for turn in made.turns)
    shown = text(sections(found_in(made)))
    assert f"Messages that showed something else than they should state 1 {percent(1, said + 1)}" in shown


def test_a_sample_of_a_large_dataset_is_evenly_spaced_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "MOST_CHECKED", 4)
    many = [conversation() for _ in range(10)]
    for number, one in enumerate(many):
        one.id = f"c{number}"
        one.run.recipe = "soliloquy"
        one.problem.steps.add(ask="How far does it fall?")
    checked = CheckedSample(10)
    for batch in (many[:5], many[5:]):
        checked.add(accepted_rows(batch))
    assert (checked.checked, checked.is_partial) == (4, True)
    # All are the same conversation.
    assert {pair.other for pair in checked.likeness.alike} == {"c3", "c6", "c9"}
    found = Findings(sample=checked)
    found.accepted.conversations = 10
    strip = text(headline(found))
    assert "in 4 of 10 accepted conversations" in strip
    assert "3 of 4 compared conversations nearly repeat the wording of another" in strip


def test_conversations_that_cannot_be_checked_are_not_among_the_checked() -> None:
    made, unlike = conversation(), conversation()
    made.run.recipe = "soliloquy"
    unlike.run.recipe = ""
    assert "in 1 of 2 accepted conversations" in text(headline(found_in(made, unlike)))


@pytest.mark.parametrize(("seconds", "drawn"), [(59, False), (60, True)])
def test_the_throughput_of_a_short_run_is_not_drawn(seconds: int, drawn: bool) -> None:
    durations = Durations(collected=Counter({1_000: 5, 1_000 + seconds - 1: 5}))
    assert ("Throughput" in text(sections(Findings(durations=durations)))) == drawn


@pytest.mark.parametrize(
    ("collected", "seconds", "paused"),
    [
        ({1_000: 5, 1_001: 5, 9_000: 5, 9_002: 5}, 5, 7_998),
        # A conversation every ten minutes is slow and no pause.
        ({1_000: 1, 1_600: 1, 2_200: 1, 3_000: 1}, 2_001, 0),
        ({}, 0, 0),
    ],
)
def test_the_pause_before_a_run_is_extended_is_no_running_time(
    collected: dict[int, int], seconds: int, paused: int
) -> None:
    durations = Durations(collected=Counter(collected))
    assert (durations.seconds, durations.paused) == (seconds, paused)
    assert durations.running.total() == sum(collected.values())


def test_an_unverified_verdict_comes_with_what_can_be_done_about_it() -> None:
    made = conversation()
    assert "generate with --verified" not in text(sections(found_in(made)))
    for turn in made.turns:
        turn.verification = VERIFICATION_NONE
    assert "generate with --verified" in text(sections(found_in(made)))


def test_families_are_counted_against_those_of_their_bank() -> None:
    one, other = conversation(), conversation()
    one.problem.source, other.problem.source = "physics/kicked_ball#17", "mine.jsonl:3"
    bank = catalogue("physics")
    cards = text(sections(found_in(one, other, families=True)))
    assert f"1 of {len(bank)} families of physics problems occur" in cards
    mechanics = sum(family.topic == "mechanics" for family in bank.values())
    assert f"mechanics 1 of {mechanics}" in cards
