"""A role whose answer breaks a rule is asked again with the reason, then for other versions, then its fallback is."""

from copy import deepcopy

from soliloquy.recipes.codegen import decider
from soliloquy.recipes.playing import play, play_again, play_by_rules
from soliloquy.recipes.recipe import find
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.recipes.soliloquy.prompting import deciding
from soliloquy.recipes.templates import latest_exchange
from soliloquy.recipes.turn_faults import faults_in
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.model import NO_RESERVE, Reserve
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Intent, Judge
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    ConversationFinished,
    ReplyNeeded,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)
from tests.unit.answering import Answering
from tests.unit.recipes.conversations import conversation, sound_turns

SOLILOQUY = find("soliloquy")
assert SOLILOQUY.rules
MENDING = SOLILOQUY.rules.book.mending
# The first has too many words, so it breaks a rule that condemns.
FAULTY, SOUND, UNUSABLE = " ".join(["180000 J"] * 100), "180000 J", ""
TRIES = MENDING.tries.student


async def played(*said: str, reserve: Reserve = NO_RESERVE) -> tuple[ConversationEvent, Answering]:
    student, event = Answering(*said), TutorReplied(conversation=conversation(*sound_turns()[:2]))
    event.conversation.ending = Ending.ENDING_UNSPECIFIED
    [outcome] = await play_by_rules(
        event, SOLILOQUY.student, role="student", model=student, recipe=SOLILOQUY, reserve=reserve
    )
    return outcome, student


async def test_an_answer_that_breaks_a_rule_goes_back_with_what_was_said_and_why() -> None:
    outcome, student = await played(FAULTY, SOUND)
    assert isinstance(outcome, StudentReplied)
    turn = outcome.conversation.turns[-1]
    assert turn.student.text == SOUND
    first, again = student.requests
    # Without the messages before the latest exchange, which its correction does not need.
    assert [message.text for message in again.messages][:-2] == [latest_exchange(one.text) for one in first.messages]
    assert "[..]\nStudent: It is 3600 N.\nTutor: " in again.messages[1].text
    assert [(message.role, message.text[:26]) for message in again.messages][-2:] == [
        ("assistant", FAULTY[:26]),
        ("user", "That answer cannot be used"),
    ]
    assert "the student uses 200 words" in again.messages[-1].text
    assert first.seed != again.seed
    [one] = turn.rejected
    assert (one.role, one.rule, one.prompt, one.text) == ("student", "length", "soliloquy/student", FAULTY)
    assert (one.judge, one.certain) == (Judge.JUDGE_RULE, True)
    assert [turn.calls[place].raw[-1] for place in one.calls] == [FAULTY]
    assert turn.calls[-1].raw == [SOUND]


async def test_without_a_fault_a_role_is_asked_as_ever() -> None:
    outcome, by_rules = await played(SOUND, reserve=Reserve(best_of=3, fallback=True))
    alone = Answering(SOUND)
    event = TutorReplied(conversation=conversation(*sound_turns()[:2]))
    event.conversation.ending = Ending.ENDING_UNSPECIFIED
    [as_ever] = await play(event, SOLILOQUY.student, role="student", model=alone)
    assert by_rules.requests == alone.requests
    assert outcome.conversation.turns[-1].student == as_ever.conversation.turns[-1].student


async def test_after_the_tries_come_other_versions_and_then_the_fallback() -> None:
    reserve = Reserve(best_of=2, fallback=True)
    for mended in range(TRIES + 3):
        outcome, student = await played(*[FAULTY] * mended, SOUND, reserve=reserve)
        turn = outcome.conversation.turns[-1]
        assert (turn.student.text, len(turn.rejected), len(student.requests)) == (SOUND, mended, mended + 1)
        assert [request.fallback for request in student.requests] == [n == TRIES + 2 for n in range(mended + 1)]
        assert len({request.seed for request in student.requests}) == mended + 1
        longer = [len(request.messages) > len(student.requests[0].messages) for request in student.requests]
        assert longer == [0 < number <= TRIES for number in range(mended + 1)]


async def test_a_decision_against_a_calculation_of_a_result_goes_back_and_stands_if_it_stays() -> None:
    made = conversation(*sound_turns())
    made.ending = Ending.ENDING_UNSPECIFIED
    made.turns[-1].ClearField("tutor")
    made.turns[-1].ClearField("calculation")
    made.turns[-1].student.claims.add(quantity="F", value=1, unit="N")
    against, of_it = '{"Use Python": "n"}', '{"Use Python": "y", "Description": "Work out the force."}'
    decide = decider(deciding, lambda _: False)
    for decisions, outcome in (([against, of_it], CalculationNeeded), ([against], ReplyNeeded)):
        model = Answering(*decisions)
        [decided] = await play_by_rules(
            StudentReplied(conversation=made), decide, role="tutor", model=model, recipe=SOLILOQUY
        )
        assert isinstance(decided, outcome)
        assert {one.rule for one in decided.conversation.turns[-1].rejected} == {"uncalculated"}
        assert "comes to" in model.requests[-1].messages[-1].text
    assert len(model.requests) == MENDING.tries.tutor + 1


async def test_words_that_nobody_can_read_go_back_without_a_reason_and_are_no_rejected_try() -> None:
    outcome, _ = await played(*[UNUSABLE] * 3, SOUND, reserve=Reserve(best_of=2))
    turn = outcome.conversation.turns[-1]
    assert (turn.student.text, len(turn.rejected), len(turn.calls)) == (SOUND, 0, 2)
    broken, _ = await played(UNUSABLE, reserve=Reserve(best_of=2))
    assert "unusable after 3 asks" in broken.conversation.ending_reason


async def test_what_no_try_mends_takes_the_turn_back_and_goes_on_with_another_draw() -> None:
    outcome, student = await played(FAULTY)
    assert isinstance(outcome, TutorReplied)
    made = outcome.conversation
    [rewind] = made.rewinds
    assert (len(made.turns), [turn.number for turn in rewind.turns], rewind.rule) == (2, [3], "length")
    assert rewind.certain
    assert len(rewind.turns[0].calls) == len(student.requests) == TRIES + 1
    asked = len(student.requests)
    [following] = await play_by_rules(outcome, SOLILOQUY.student, role="student", model=student, recipe=SOLILOQUY)
    assert not {request.seed for request in student.requests[asked:]} & {one.seed for one in student.requests[:asked]}
    # The second time a turn more is taken back.
    assert [turn.number for turn in following.conversation.rewinds[-1].turns] == [2, 3]


async def test_a_conversation_whose_rewinds_are_used_up_ends_with_the_fault() -> None:
    event: ConversationEvent = TutorReplied(conversation=conversation(*sound_turns()[:2]))
    student = Answering(FAULTY)
    while isinstance(event, TutorReplied):
        [event] = await play_by_rules(event, SOLILOQUY.student, role="student", model=student, recipe=SOLILOQUY)
    assert isinstance(event, ConversationFinished)
    made = event.conversation
    assert (made.ending, len(made.rewinds)) == (Ending.ENDING_REJECTED, MENDING.rewinds)
    assert SOLILOQUY.faults(made)[0].startswith("length: turn ")


async def test_a_message_that_a_program_finds_unlike_its_draw_is_written_again_under_the_same_draw() -> None:
    made = sent_back()
    student = Answering(SOUND)
    [outcome] = await play_again(StudentRejected(conversation=made), model=student, recipe=SOLILOQUY)
    turn = outcome.conversation.turns[-1]
    assert isinstance(outcome, StudentReplied)
    assert (turn.number, turn.student.text, turn.student.intent) == (3, SOUND, Intent.INTENT_RIGHT)
    assert [one.text for one in turn.rejected] == ["12 J"]
    assert [call.raw[-1] for call in turn.calls] == ["12 J", SOUND]
    [request] = student.requests
    assert "not as it was drawn" in request.messages[-1].text


def sent_back() -> Conversation:
    made = conversation(*sound_turns())
    made.ending = Ending.ENDING_UNSPECIFIED
    # With it the student knows the step.
    made.run.seed = 1
    turn = made.turns[-1]
    turn.ClearField("tutor")
    turn.ClearField("calculation")
    turn.calls.add(role="student", prompt="soliloquy/student", raw=["12 J"])
    because = "the student's answer is not as it was drawn: '12 J' is wrong, and was to be right"
    record = turn.rejected.add(role="student", prompt="soliloquy/student", rule="drawn", text="12 J", because=because)
    record.calls.append(0)
    return made


def test_a_fault_of_the_reply_is_no_fault_of_the_turn_before_it() -> None:
    assert SOLILOQUY.rules
    after = conversation(*sound_turns()[:2])
    labels = TutorLabels.FromString(after.turns[-1].tutor.labels)
    labels.step = 0
    after.turns[-1].tutor.labels = labels.SerializeToString()
    before = deepcopy(after)
    before.turns[-1].ClearField("tutor")
    assert [fault.rule for fault in faults_in(before, after, "composer", SOLILOQUY.rules)] == ["steps"]
