"""Whole scripted conversations on the problems of the physics bank: sound, varied, and each with a voice of its own."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from soliloquy.recipes.check_report import TruthReport
from soliloquy.recipes.learner.evidence import strength
from soliloquy.recipes.scripted.slips import is_of_the_pen
from soliloquy.recipes.soliloquy.codes import ACTIONS
from soliloquy.recipes.soliloquy.labels_pb2 import StepState, StudentLabels, TutorLabels
from soliloquy.recipes.soliloquy.progress import progress_by_turn
from soliloquy.recipes.soliloquy.prompting import personas
from soliloquy.recipes.soliloquy.recipe import RECIPE
from soliloquy.recipes.soliloquy.rules import check
from soliloquy.texts.phrases import says
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, EVALUATION_INCORRECT, Conversation, Intent, Slip
from tests.unit.scripted.growing import grown

SEED = 3
COUNT = 200


@cache
def conversations() -> list[Conversation]:
    async def grow() -> list[Conversation]:
        return [await grown(ordinal, seed=SEED) for ordinal in range(COUNT)]

    return asyncio.run(grow())


@cache
def report() -> TruthReport:
    found = TruthReport()
    for conversation in conversations():
        found.add(conversation.id, check(conversation))
    return found


def test_every_conversation_passes_the_recipes_filters() -> None:
    assert {
        conversation.id: RECIPE.faults(conversation) for conversation in conversations() if RECIPE.faults(conversation)
    } == {}


def test_nothing_that_is_said_as_it_was_meant_is_sent_back() -> None:
    sent_back = [rejected for one in conversations() for turn in one.turns for rejected in turn.rejected]
    assert [(rejected.text, rejected.because) for rejected in sent_back] == []


def test_every_evaluation_state_and_action_occurs() -> None:
    seen = {label: set(report().occurring(label)) for label in report().labels}
    assert seen["evaluation"] == set(ACTIONS)
    assert seen["action"] == {str(number) for number in range(1, 13)}
    assert seen["state"] == {"q", "r", "t"}


def test_a_student_errs_when_it_is_meant_to_and_only_then() -> None:
    assert report().meant_wrong == report().found_wrong > 50
    assert report().unlike_meant == 0


def test_a_misconception_stays_until_the_tutors_words_speak_against_it() -> None:
    held = corrected = 0
    for conversation in conversations():
        for before, turn in pairwise(conversation.turns):
            was, now = (StudentLabels.FromString(one.student.labels) for one in (before, turn))
            if was.HasField("misconception") and before.tutor.evaluation == EVALUATION_INCORRECT:
                if TutorLabels.FromString(before.tutor.labels).state != StepState.STEP_STATE_IN_PROGRESS:
                    continue
                step = conversation.problem.steps[TutorLabels.FromString(before.tutor.labels).step - 1]
                given = was.misconception.evidence + strength(before.tutor.text, was.misconception, step)
                convinced = given >= was.misconception.evidence_wanted
                assert now.HasField("misconception") != convinced
                held, corrected = held + (not convinced), corrected + convinced
    assert held > 10
    assert corrected > 20


def test_a_wrong_answer_is_the_value_of_the_working_that_the_student_believes_in() -> None:
    for conversation in conversations():
        for turn in conversation.turns:
            labels = StudentLabels.FromString(turn.student.labels)
            assert (turn.student.intent == Intent.INTENT_WRONG) == labels.HasField("misconception")


def test_a_slip_of_the_pen_is_confessed_only_once_it_is_corrected() -> None:
    kept = confessed = 0
    for conversation in conversations():
        for before, turn in pairwise(conversation.turns):
            was, now = (StudentLabels.FromString(one.student.labels) for one in (before, turn))
            lapse = Slip(because=was.misconception.because)
            if is_of_the_pen(lapse):
                assert not says(before.student.text, lapse.because)
                kept += now.HasField("misconception")
                confessed += says(turn.student.text, lapse.because)
                assert not (now.HasField("misconception") and says(turn.student.text, lapse.because))
    assert kept > 0
    assert confessed > 3


def test_nobody_is_asked_to_try_again_before_a_try_has_failed() -> None:
    told = re.compile(r"\b(?:another (?:go|try|way)|try again|try once more|differently)\b")
    asked = 0
    for conversation in conversations():
        for turn, before in zip(conversation.turns, progress_by_turn(conversation), strict=False):
            if told.search(turn.tutor.text):
                assert before.wrong_answers or turn.tutor.evaluation == EVALUATION_INCORRECT, turn.tutor.text
                asked += 1
    assert asked > 10


def test_a_reason_that_was_told_is_not_asked_for() -> None:
    asked = 0
    for one in conversations():
        for at, turn in enumerate(one.turns):
            labels = TutorLabels.FromString(turn.tutor.labels)
            if turn.tutor.evaluation == EVALUATION_CORRECT and labels.state == StepState.STEP_STATE_IN_PROGRESS:
                reason = one.problem.steps[labels.step - 1].explanation
                assert not says(turn.student.text, reason.partition(". ")[0])
                assert not any(reason in before.tutor.text for before in one.turns[:at])
                asked += 1
    assert asked > 20


def test_no_two_conversations_are_alike_in_wording() -> None:
    assert report().likeness.compared == COUNT
    assert report().likeness.alike == []


def test_hardly_a_phrase_is_said_twice_by_the_same_speaker() -> None:
    """Formulas and explanations have no other wording."""
    said = again = 0
    for one in conversations():
        for texts in ([turn.student.text for turn in one.turns], [turn.tutor.text for turn in one.turns]):
            before = set[str]()
            for text in texts:
                phrases = {
                    part for part in re.split(r"[.!?:;,]\s", text.casefold()) if len(re.findall(r"[a-z]+", part)) > 2
                }
                said, again = said + 1, again + bool(phrases & before)
                before |= phrases
    assert again < 0.035 * said


def test_hardly_a_reply_says_the_same_thing_twice() -> None:
    """What is named in the praise is not named in the farewell, too: "The angle is found. The angle is known"."""
    replies = [
        re.sub(r"[.,:;!?]", "", turn.tutor.text.casefold()).split() for one in conversations() for turn in one.turns
    ]
    runs = [
        [run for run in zip(*(words[at:] for at in range(3)), strict=False) if "".join(run).isalpha()]
        for words in replies
    ]
    assert sum(len(found) > len(set(found)) for found in runs) < 0.025 * len(replies)


def test_replies_are_varied() -> None:
    assert report().figures()["bigram_entropy"] >= 3.5


def test_no_message_shows_how_it_was_put_together() -> None:
    for conversation in conversations():
        for turn in conversation.turns:
            for text in (turn.student.text, turn.tutor.text):
                assert not any(mark in text.replace("...", "") for mark in ("..", "  ", "[", "{", " ,", "?.", ",,"))


def test_every_persona_speaks_and_keeps_to_its_conversation() -> None:
    assert {conversation.persona for conversation in conversations()} == set(personas({}))
    for conversation in conversations():
        starts = [turn.student.text[0] for turn in conversation.turns if turn.student.text[0].isalpha()]
        if conversation.persona == "careful":
            assert not any(start.islower() for start in starts[:1])
        if conversation.persona == "casual":
            assert starts[0].islower()


def test_a_persona_can_be_told_from_its_words() -> None:
    """Word counts of one half of the conversations name the personas of the other half."""
    half = COUNT // 2
    heard = {persona: Counter[str]() for persona in personas({})}
    for conversation in conversations()[:half]:
        heard[conversation.persona].update(words_of(conversation))
    told = [likeliest(words_of(conversation), heard) == conversation.persona for conversation in conversations()[half:]]
    assert sum(told) >= 0.85 * len(told)


def words_of(conversation: Conversation) -> list[str]:
    return re.findall(r"[^\W\d_]+", " ".join(turn.student.text for turn in conversation.turns))


def likeliest(words: list[str], heard: Mapping[str, Counter[str]]) -> str:
    known = {word for counts in heard.values() for word in counts}
    return max(
        heard,
        key=lambda persona: sum(
            math.log((heard[persona][word] + 1) / (heard[persona].total() + len(known)))
            for word in words
            if word in known
        ),
    )
