"""Checks many conversations of the recipe mathdial together, and the rules that each one keeps."""

import asyncio
import json
from collections.abc import Sequence
from copy import deepcopy
from functools import cache

import pytest

from soliloquy.recipes.agreement import verdict_is_true
from soliloquy.recipes.answers import Decision
from soliloquy.recipes.mathdial.belief import belief_told, reasons_given
from soliloquy.recipes.mathdial.claims import claimed_value, gives_right, settled_answer
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.labels_pb2 import Belief, ConversationLabels, ErrorCategory, StudentLabels
from soliloquy.recipes.mathdial.moves import intent_name, move_name
from soliloquy.recipes.mathdial.prompting import TEMPLATES
from soliloquy.recipes.mathdial.rules import checked
from soliloquy.recipes.mathdial.worked_solutions import mistakes
from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import Prompt
from soliloquy.truth.ledger import make_ledger
from soliloquy.v1.conversation_pb2 import (
    PLAN_SOURCE_UNSPECIFIED,
    Conversation,
    Ending,
    Evaluation,
    Problem,
    Quantity,
    Resolution,
    Slip,
    Step,
)
from soliloquy.v1.events_pb2 import CalculationNeeded, StudentReplied
from tests.unit.scripted.dialling import dialled

COUNT, PROBLEMS, SEED = 24, 12, 12
RECIPE = find("mathdial")
ASKED = "What did you do with the 12 boxes first?"


@cache
def grown() -> list[Conversation]:
    async def grow() -> list[Conversation]:
        return [conversation async for conversation in dialled(COUNT, problems=PROBLEMS, seed=SEED)]

    return asyncio.run(grow())


@cache
def conversations() -> list[Conversation]:
    """Returns the conversations about usable problems."""
    return [one for one in grown() if one.ending != Ending.ENDING_UNFIT]


def test_most_problems_have_a_confusion_and_the_others_say_why_not() -> None:
    unfit = [one for one in grown() if one.ending == Ending.ENDING_UNFIT]
    assert len(unfit) < 0.2 * COUNT
    for one in unfit:
        assert RECIPE.faults(one) == [one.problem.enrichment.plain_because] != [""]


@pytest.mark.parametrize(("working", "value", "is_one"), [("x = -9 / 3", -3, True), ("x = -9", -9, False)])
def test_a_mistake_that_calculates_nothing_is_none_of_a_pupil(working: str, value: float, is_one: bool) -> None:
    slip, result = Slip(working=working, value=value), Quantity(symbol="x", value=3)
    step = Step(number=1, formula="x = 9 / 3", expression="9 / 3", result=result, slips=[slip])
    assert bool(mistakes(Problem(question="How many?", steps=[step], answer=result))) is is_one


def test_nearly_all_are_kept() -> None:
    broken = [fault for one in conversations() for fault in RECIPE.faults(one)]
    assert len(broken) <= 0.05 * COUNT, broken


def whole_labels(conversation: Conversation) -> ConversationLabels:
    return ConversationLabels.FromString(conversation.labels)


def test_a_student_holds_its_belief_until_it_has_reasons_enough() -> None:
    for one in conversations():
        for number, turn in enumerate(one.turns[1:], start=1):
            before = Conversation(problem=one.problem, turns=one.turns[:number])
            labels, wanted = StudentLabels.FromString(turn.student.labels), whole_labels(one).reasons_wanted
            assert labels.reasons == reasons_given(before)
            assert labels.belief == belief_told([], labels.reasons, wanted)
            given_up = labels.belief == Belief.BELIEF_GIVEN_UP
            assert gives_right(turn, one.problem) is given_up


def test_nobody_doubts_before_the_tutor_has_said_anything_against_it() -> None:
    held = [StudentLabels.FromString(turn.student.labels) for one in conversations() for turn in one.turns[1:]]
    assert all(labels.reasons for labels in held if labels.belief != Belief.BELIEF_HELD)
    assert any(labels.belief == Belief.BELIEF_DOUBTED for labels in held)


def test_the_persona_of_a_student_fits_its_mistake() -> None:
    profiles = TEMPLATES.of({}).table("profiles")
    for one in conversations():
        category = ErrorCategory.Name(confusion_of(one.problem.enrichment).category)
        assert category.removeprefix("ERROR_CATEGORY_").lower() in profiles[one.persona]["errors"]


def test_the_same_reason_twice_counts_once() -> None:
    one = deepcopy(conversations()[0])
    given = reasons_given(one)
    one.turns.add().CopyFrom(one.turns[1])
    assert reasons_given(one) == given


def unsettled(one: Conversation) -> Conversation:
    """Returns the conversation about a problem of which nothing is settled."""
    copy = deepcopy(one)
    copy.problem.plan = PLAN_SOURCE_UNSPECIFIED
    copy.problem.ledger.CopyFrom(make_ledger(copy.problem))
    for entry in copy.problem.ledger.entries:
        del entry.evidence[1:]
    return copy


def test_a_number_that_a_settled_value_judges_takes_no_program() -> None:
    for one in conversations():
        for turn in one.turns:
            if claimed_value(turn, one.problem) is not None and settled_answer(one, turn) is not None:
                assert not turn.calculation.attempts
                assert "mathdial/deciding" not in [call.prompt for call in turn.calls]
                assert verdict_is_true(turn, settled_answer(one, turn).right) is not False  # type: ignore[union-attr]


async def test_any_other_number_is_calculated_for_before_the_tutor_judges_it() -> None:
    one = unsettled(conversations()[0])
    del one.turns[2:]
    one.turns[1].ClearField("tutor")
    prompts = list[str]()

    async def ask(prompt: Prompt, _: object) -> Decision:
        prompts.append(prompt.name)
        return Decision.model_validate({"Use Python": "n"})

    [event] = await RECIPE.tutor(StudentReplied(conversation=one), ask)  # type: ignore[arg-type]
    assert isinstance(event, CalculationNeeded)
    assert prompts == ["mathdial/deciding"]
    one.turns[1].tutor.evaluation = Evaluation.EVALUATION_INCORRECT
    assert any(mark.startswith("blind: turn 2") for mark in marks(one))


def test_how_it_was_resolved_goes_with_how_it_ended() -> None:
    for one in conversations():
        solved = one.resolution in (Resolution.RESOLUTION_SOLVED, Resolution.RESOLUTION_REVEALED)
        assert solved is (one.ending == Ending.ENDING_SOLVED)
        assert one.resolution != Resolution.RESOLUTION_UNSPECIFIED
    assert any(one.resolution == Resolution.RESOLUTION_REVEALED for one in conversations())


def test_a_record_holds_the_confusion_and_each_move() -> None:
    for one in conversations()[:8]:
        shown = json.loads(json.dumps(RECIPE.record(one)))
        confusion = confusion_of(one.problem.enrichment)
        names = ("solution", "answer", "description", "first_wrong_step", "samples", "agreeing")
        assert all(shown["labels"]["confusion"][name] == getattr(confusion, name) for name in names)
        category = ErrorCategory.Value(f"ERROR_CATEGORY_{shown['labels']['confusion']['category'].upper()}")
        assert category == confusion.category != ErrorCategory.ERROR_CATEGORY_UNSPECIFIED
        assert shown["persona"] == one.persona
        assert shown["labels"]["student_name"] == whole_labels(one).student_name
        for said, turn in zip(shown["turns"], one.turns, strict=True):
            assert (said["student"] or {"text": ""})["text"] == turn.student.text
            assert (said["tutor"]["text"], said["tutor"]["thoughts"]) == (turn.tutor.text, turn.tutor.thoughts)
            assert (said["tutor"]["move"], said["tutor"]["move_intent"]) == (
                move_name(turn.tutor),
                intent_name(turn.tutor),
            )


def test_a_tutor_learns_each_of_its_answers_under_the_prompt_that_was_asked() -> None:
    for one in conversations()[:8]:
        asked = [prompt.name for _, prompt in RECIPE.prompts(one)]
        for lesson in RECIPE.lessons(one):
            assert lesson.prompt.name in asked
            assert lesson.answer
        learned = [told.text for told in RECIPE.dialogue(one) if told.learned]
        assert all(any(turn.tutor.text in text for text in learned) for turn in one.turns)


def test_prompts_of_the_tutor_are_filled_in_with_what_they_show() -> None:
    asked = [prompt for _, prompt in RECIPE.prompts(unsettled(conversations()[0]))]
    for state in ("deciding", "choosing", "replying"):
        filled = [set(one.slots) - {"output"} for one in asked if one.name == f"mathdial/{state}"]
        assert filled == [TEMPLATES.slots[state]] * len(filled) != []


def marks(one: Conversation) -> Sequence[str]:
    return checked(one).marks


def test_the_right_answer_before_its_time_is_asked_for_again() -> None:
    one = deepcopy(conversations()[0])
    one.turns[1].student.text = f"I see, it is {one.problem.answer.value:g} {one.problem.answer.unit}."
    one.turns[1].student.ClearField("claims_by")
    assert any(mark.startswith("belief: turn 2: gives the right answer after 0 of") for mark in marks(one))


def test_a_tutor_that_tells_the_answer_by_another_move_is_asked_again() -> None:
    one = deepcopy(conversations()[0])
    one.turns[0].tutor.text = f"Hi! Did you get {one.problem.answer.value:g}?"
    assert any(mark.startswith("told: turn 1: a generic move") for mark in marks(one))


def repeating(*said: str) -> Conversation:
    one = deepcopy(conversations()[0])
    del one.turns[3:]
    for turn, text in zip(one.turns, said, strict=True):
        turn.tutor.text = text
    return one


def test_a_message_may_be_repeated_once_and_is_asked_for_again() -> None:
    one = repeating(ASKED, "What else?", ASKED)
    assert any(mark.startswith("repeated: turn 3: the tutor repeats") for mark in marks(one))
    assert not any("a third time" in fault for fault in RECIPE.faults(one))


def test_a_message_with_another_number_repeats_nothing() -> None:
    one = repeating("So 4 bags of 6 cost 24 euros, right?", "Well.", "So 4 bags of 7 cost 28 euros, right?")
    assert not any(mark.startswith("repeated") for mark in marks(one))


def test_the_same_words_a_third_time_are_a_fault() -> None:
    one = repeating(*[ASKED] * 3)
    assert any(fault.startswith("loop: turn 3: the tutor says") for fault in RECIPE.faults(one))
