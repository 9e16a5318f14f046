"""How people talk is measured from the words alone, and what tells two datasets apart is named."""

import pytest

from soliloquy.dataset.card import DatasetSummary, card
from soliloquy.dataset.manner import Exchange, Manner, Talk
from soliloquy.dataset.statistics import Statistics
from soliloquy.dataset.telling_apart import tell_apart
from soliloquy.v1 import conversation_pb2 as pb
from tests.datasets import RUN, statistics_of


def talk(*turns: tuple[str, str], **known: object) -> Talk:
    return Talk(turns=[Exchange(student=student, tutor=tutor) for student, tutor in turns], **known)  # type: ignore[arg-type]


def test_an_opening_counts_without_the_problem_that_it_quotes() -> None:
    asked = [talk(("Help me: " + question, "Sure."), question=question) for question in ("What is 2 + 3?", "Is 4 odd?")]
    assert Manner(talks=asked).openings() == 0.5


def test_openings_of_a_part_are_expected_to_differ_more_often() -> None:
    found = Manner(talks=[talk((text, "")) for text in ("a", "a", "b", "b")])
    assert found.openings() == 0.5
    # Of the six pairs, two are alike.
    assert found.openings(2) == pytest.approx(5 / 6)


def test_a_tutor_who_says_the_same_again_repeats_itself() -> None:
    again = talk(("x", "Look at the second line."), ("y", "Look at the second line."), ("z", "Draw the box first."))
    assert Manner(talks=[again]).repetition() == 0.5
    assert Manner(talks=[again]).variety("tutor") == pytest.approx(5 / 8)


def test_a_wrong_reply_has_the_cause_whose_value_it_gives() -> None:
    slips = [(12.0, "I added the bottoms."), (7.0, "")]
    turns = [
        Exchange(student=said, tutor="No.", is_wrong=True) for said in ("I get 12.", "It is 7.", "It is 5.", "Hm.")
    ]
    right = Exchange(student="I get 12.", tutor="Yes.")
    assert Manner(talks=[Talk(turns=[*turns, right], slips=slips)]).causes() == (2, 1, 3)


def test_a_misconception_in_its_own_words_is_the_cause_of_the_number_in_them() -> None:
    slips = [(6.5, "I read the price as 21.")]
    said = ("Well, because I read the price as 21, is that wrong?", "I took 21.", "I read the price as 31.", "It is 7.")
    turns = [Exchange(student=text, tutor="Why?", is_wrong=True) for text in said]
    assert Manner(talks=[Talk(turns=turns, slips=slips)]).causes() == (2, 2, 4)


def test_what_a_student_does_next_is_counted_by_the_act_before() -> None:
    acts = [("Start?", "hint"), ("It is 5.", "hint"), ("Why that?", "hint"), ("Fine.", "")]
    told = Talk(turns=[Exchange(student=said, tutor="Go on.", act=act) for said, act in acts])
    assert Manner(talks=[told]).after() == {"hint": {"answers": 1, "asks": 1, "neither": 1}}


def test_the_card_has_the_measures_of_a_dataset() -> None:
    conversation = pb.Conversation(id="one")
    step = conversation.problem.steps.add(number=1, ask="How many are that?", expression="a + 3")
    step.result.CopyFrom(pb.Quantity(symbol="n", value=5))
    step.slips.add(value=6, because="I counted one twice.", working="n = 2 + 4")
    # A number of a right formula is no wrong number.
    replies = (("I get 6.", "How many are that? Count again."), ("I add 3.", "To what?"), ("5 then.", "Yes."))
    for said, reply in replies:
        turn = conversation.turns.add(student=pb.StudentReply(text=said), tutor=pb.TutorReply(text=reply))
        turn.student.intent = pb.INTENT_RIGHT if said == "5 then." else pb.INTENT_WRONG
    counted = statistics_of([conversation])
    written = card(DatasetSummary(manifest={"run": RUN}, accepted=counted, rejected=Statistics()))
    assert "| wrong replies that follow from a named misconception | 100 % (1 of 1) |" in written
    assert "| replies that hold a planned question word for word | 33.3 % (1 of 3) |" in written
    assert "after the tutor's" in written


def test_two_halves_of_the_same_cannot_be_told_apart_and_two_manners_can() -> None:
    words = ("one", "two", "three", "four", "five")
    alike = [talk((f"It is {words[n % 5]} and {words[n % 3]}.", f"Look at {words[n % 4]} of them.")) for n in range(80)]
    told = tell_apart(alike[::2], alike[1::2])
    assert told is not None
    assert told.auc < 0.75
    shouting = [talk((f"It is {words[n % 5]}!!", "Look at it.")) for n in range(40)]
    told = tell_apart(shouting, alike)
    assert told is not None
    assert told.accuracy > 0.95
    assert "student: exclamation marks in 100 words" in [one.name for one in told.features[:5]]


def test_too_few_conversations_are_not_told_apart() -> None:
    assert tell_apart([talk(("a", "b"))] * 19, [talk(("a", "b"))] * 40) is None
