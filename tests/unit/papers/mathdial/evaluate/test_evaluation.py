"""The MathDial evaluation: what counts as success and as telling, and that good and bad tutors come out as such."""

from functools import cache
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import Problem, StudentReply, TutorReply
from soliloquy_papers.mathdial.evaluate.answers import ExpectedAnswer
from soliloquy_papers.mathdial.evaluate.dialogues import draw_dialogues, judge_recorded, next_step, prompted
from soliloquy_papers.mathdial.evaluate.figures import CURVES, MEASURES, METRICS, PAPER, WHOSE, figures, page
from soliloquy_papers.mathdial.evaluate.judging import JudgedDialogue, judge, outcome
from soliloquy_training.evaluation.comparison import read, rows
from soliloquy_training.evaluation.report import write_report
from tests.unit.papers.mathdial.evaluate.dialogues import Saying, conversation, drawn, results, tutoring
from tests.unit.scripted.dialling import BANK, ENGINE

COUNT = 16
TEN = ExpectedAnswer(value=10, unit="", name="", tolerance=1e-6, wrong=None, shared=False)


@cache
def scripted() -> list[JudgedDialogue]:
    return results(tutoring(), drawn(COUNT))


@cache
def asking() -> list[JudgedDialogue]:
    return results(tutoring(next_step()), drawn(COUNT))


def share(found: list[JudgedDialogue], metric: str) -> float:
    return sum(one.passed[metric] for one in found) / len(found)


TUTOR, STUDENT = "tutor", "student"


def said(messages: list[tuple[str, str]]) -> list[StudentReply | TutorReply]:
    return [StudentReply(text=text) if who == STUDENT else TutorReply(text=text) for who, text in messages]


@pytest.mark.parametrize(
    ("messages", "reached", "told"),
    [
        ([(TUTOR, "How?"), (STUDENT, "I get 24."), (TUTOR, "Why?"), (STUDENT, "So it is 10.")], 2, None),
        # Told, and then reached: both count.
        ([(TUTOR, "How?"), (STUDENT, "I get 24."), (TUTOR, "It is 10."), (STUDENT, "So it is 10.")], 2, 2),
        # After the student has it, nothing is told.
        ([(TUTOR, "How?"), (STUDENT, "It is 10."), (TUTOR, "Yes, it is 10.")], 1, None),
        # The student asked about it first: the tutor repeats it.
        ([(TUTOR, "How?"), (STUDENT, "Is it 10?"), (TUTOR, "Yes, it is 10."), (STUDENT, "Oh.")], None, None),
        # Messages of one speaker in a row are one.
        ([(TUTOR, "Hi!"), (TUTOR, "How?"), (STUDENT, "24."), (STUDENT, "No, 10.")], 1, None),
        ([(STUDENT, "It is 24."), (TUTOR, "It is 10."), (STUDENT, "Why?")], None, 1),
        ([(STUDENT, "It is 10.")], 1, None),
    ],
)
def test_exchanges_are_counted_from_the_tutors_messages(
    messages: list[tuple[str, str]], reached: int | None, told: int | None
) -> None:
    assert outcome(said(messages), TEN, handed_in="") == (reached, told)


def test_a_number_of_the_solution_that_was_handed_in_is_not_told() -> None:
    messages = said([(TUTOR, "You had 10 in your first line."), (STUDENT, "Yes.")])
    assert outcome(messages, TEN, handed_in="4 + 6 = 10\n10 + 5 = 15") == (None, None)
    assert outcome(messages, TEN, handed_in="4 + 7 = 11") == (None, 1)


def test_the_scripted_tutor_succeeds_and_seldom_tells() -> None:
    # One student in ten can hardly be convinced.
    assert share(scripted(), "success@10") >= 0.75
    assert share(scripted(), "telling@5") <= 0.2
    shares = [share(scripted(), metric) for metric in CURVES["Success@k"]]
    assert sorted(shares) == shares
    assert shares[0] < 0.5 < shares[-1]


def test_a_prompted_tutor_has_one_instruction_with_the_solution_and_neither_moves_nor_programs() -> None:
    says = Saying("prompted", {"which only you see": "What does the question ask for?"})
    for one in results(tutoring(prompted(), says), drawn(3)):
        # The student has the last word.
        first, *others = (turn.tutor.text for turn in one.conversation.turns if turn.tutor.text)
        assert first.startswith("Hello!")
        assert {*others} == {"What does the question ask for?"}
        assert {call.prompt for call in one.calls} == {"mathdial/prompted"}
        assert not any(turn.HasField("calculation") for turn in one.conversation.turns)


def test_who_only_asks_for_the_next_step_tells_nothing_and_succeeds_less() -> None:
    assert share(asking(), "telling@10") == 0.0
    assert share(asking(), "success@10") < share(scripted(), "success@10")
    # Ten exchanges each, and no message that the tutor is not held to.
    assert {len(one.conversation.turns) for one in asking()} == {11}


def test_a_tutor_that_says_the_answer_is_found_out() -> None:
    students = drawn(6)
    problems = [one.problem for one in students.cases]
    says = {one.question: f"No, the answer is {format_value(one.answer.value, one.answer.unit)}." for one in problems}
    found = results(tutoring(model=Saying("replying", says)), students)
    assert share(found, "telling@1") == share(found, "telling@10") == 1.0
    assert share(found, "own") == 0.0


def test_a_tutor_whose_answers_cannot_be_used_ends_its_dialogue_and_fails_it() -> None:
    students = drawn(3)
    unreadable = {one.problem.question: "I would rather not." for one in students.cases}
    found = results(tutoring(model=Saying("choosing", unreadable)), students)
    assert share(found, "success@10") == 0.0
    assert all("mathdial/choosing: unusable" in one.ended for one in found)


def test_the_same_seed_draws_the_same_students_and_another_seed_others() -> None:
    assert drawn(3).digest == drawn(3).digest != drawn(3, seed=4).digest


def test_figures_hold_success_by_length_and_every_measure_without_references_is_of_the_dialogues() -> None:
    made = figures(scripted(), [], None)
    assert sum(group["dialogues"] for group in made["by_steps"].values()) == COUNT
    assert set(made["metrics"]) == set(METRICS)
    measured = {name for name, value in made["measures"].items() if value is not None}
    assert measured == {name for name in MEASURES if not name.startswith("reply_")}
    assert made["measures"]["words"] > 5


def test_reports_of_two_tutors_stand_side_by_side(tmp_path: Path) -> None:
    for name, found in (("scripted", scripted()), ("next-step", asking())):
        report = {
            "protocol": "mathdial",
            "name": name,
            "cases": {"put": f"{COUNT} dialogues", "sha256": drawn(COUNT).digest},
            "titles": METRICS | MEASURES,
            "figures": figures(found, [], None),
            "paper": PAPER,
            "whose": WHOSE,
        }
        write_report(tmp_path / name, report, found, page(report, found))
    compared = {row[0]: row[1:] for row in rows(read([tmp_path / "scripted", tmp_path / "next-step"]))}
    assert compared["Success@10"][2].endswith(" : 0")
    assert compared["Telling@10"][1].startswith(f"0.00 (0 of {COUNT}")
    assert "sBLEU of replies" not in compared
    assert "| 2 |" in (tmp_path / "scripted" / "report.md").read_text("utf-8")


def test_recorded_dialogues_are_measured_as_they_are() -> None:
    kept = conversation((TUTOR, "How?"), (STUDENT, "I get 24."), (TUTOR, "It is 10."), (STUDENT, "So it is 10."))
    kept.problem.CopyFrom(Problem(question="How many?", solution="4 + 6 = 10\n#### 10"))
    silent = conversation((TUTOR, "Hello?"))
    silent.problem.CopyFrom(kept.problem)
    wordy = conversation((TUTOR, "Why?"), (STUDENT, "Because."))
    [found], cases = judge_recorded([kept, silent, wordy], "told")
    assert (cases["dialogues"], cases["unanswerable"], cases["one_sided"]) == (1, 1, 1)
    assert (found.reached, found.told, found.steps) == (2, 2, 1)
    again = judge(scripted()[0].conversation, scripted()[0].wanted)
    assert (again.reached, again.told) == (scripted()[0].reached, scripted()[0].told)


def test_dialogues_that_cannot_be_measured_are_refused_in_a_sentence() -> None:
    physics = conversation((TUTOR, "How?"), (STUDENT, "It is 10."))
    physics.run.recipe = "soliloquy"
    with pytest.raises(Failure, match="holds conversations of the recipe soliloquy: use a dataset of mathdial"):
        judge_recorded([physics], "grown")
    with pytest.raises(Failure, match="1 are about a problem without a numeric answer"):
        judge_recorded([conversation((TUTOR, "Why?"), (STUDENT, "Because."))], "told")


async def test_too_few_confusions_are_said_with_their_number() -> None:
    few = [Problem(question="Why?", solution="So."), *(BANK.problem(1, place) for place in range(2))]
    with pytest.raises(Failure, match="only 2 of 5 dialogues are possible, 1 problems have no confusion"):
        await draw_dialogues(few, ENGINE, {}, seed=1, dialogues=5, at_once=2)
