"""A program that finds a right answer wrong goes back to the role that wrote it, and nobody else is blamed."""

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.recipe import find
from soliloquy.recipes.turn_faults import programs_sent_back
from soliloquy.runtime.events import ConversationEvent
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Judge, RejectedTry
from soliloquy.v1.events_pb2 import CalculationNeeded, CodeWritten, ReplyNeeded
from soliloquy_services.codegen.handler import write
from soliloquy_services.composer.handler import reply
from tests.unit.answering import Answering
from tests.unit.recipes.conversations import calculated, conversation, sound_turns

RULES = find("soliloquy").rules
assert RULES
TRIES = RULES.book.mending.tries.codegen
PROGRAM = '{"Python": {"Python Code": "```python\\nresult = 1500 * 2.4\\n```", "Result Variable": "result"}}'
RAW = PROGRAM.replace("*", "/")


def calculated_turn(*, correct: bool, person: bool = False) -> Conversation:
    """A conversation whose last message is right and waits for a reply."""
    made = conversation(*sound_turns())
    made.ending, made.person = Ending.ENDING_UNSPECIFIED, person
    turn = made.turns[-1]
    turn.ClearField("tutor")
    turn.calculation.CopyFrom(calculated(correct))
    for role, prompt in (("student", "student"), ("tutor", "deciding"), ("codegen", "use_python")):
        turn.calls.add(role=role, prompt=f"soliloquy/{prompt}", raw=[RAW if role == "codegen" else "said"])
    return made


async def replied(made: Conversation) -> ConversationEvent:
    [event] = await reply(ReplyNeeded(conversation=made), Answering("{}"), Judges())
    return event


async def test_a_program_that_finds_a_right_answer_wrong_goes_back_with_what_it_came_to() -> None:
    event = await replied(calculated_turn(correct=False))
    assert isinstance(event, CalculationNeeded)
    turn = event.conversation.turns[-1]
    assert (turn.calculation.description, len(turn.calculation.attempts)) == ("the net force", 0)
    [one] = turn.rejected
    assert (one.role, one.rule, one.prompt, [*one.calls]) == ("codegen", "wrong_program", "soliloquy/use_python", [2])
    assert (one.text, one.judge, one.certain) == ("result = 1500 * 2.4", Judge.JUDGE_RULE, True)
    assert "'180000 J' wrong, although that is right" in one.because
    assert one.calculation.attempts[0].execution.values


async def test_its_writer_reads_the_program_and_the_reason_and_the_next_one_stands() -> None:
    event, model = await replied(calculated_turn(correct=False)), Answering(PROGRAM)
    assert isinstance(event, CalculationNeeded)
    [written] = await write(event, model)
    assert isinstance(written, CodeWritten)
    [request] = model.requests
    assert [message.text for message in request.messages][-2] == RAW
    assert "the program contradicts what is known to be right" in request.messages[-1].text
    assert [attempt.code for attempt in written.conversation.turns[-1].calculation.attempts] == ["result = 1500 * 2.4"]


async def test_a_program_that_stays_wrong_stands_after_its_tries() -> None:
    made, seeds = calculated_turn(correct=False), set()
    for number in range(TRIES):
        event, model = await replied(made), Answering(PROGRAM)
        assert isinstance(event, CalculationNeeded), number
        [written] = await write(event, model)
        made = written.conversation
        made.turns[-1].calculation.attempts[-1].execution.CopyFrom(calculated(False).attempts[0].execution)
        seeds |= {request.seed for request in model.requests}
    assert len(seeds) == TRIES
    assert not isinstance(await replied(made), CalculationNeeded)
    assert len(programs_sent_back(made.turns[-1])) == TRIES


async def test_programs_that_agree_and_those_for_persons_stand() -> None:
    assert not isinstance(await replied(calculated_turn(correct=True)), CalculationNeeded)
    assert not isinstance(await replied(calculated_turn(correct=False, person=True)), CalculationNeeded)


async def test_the_programs_of_an_earlier_message_count_for_no_later_one() -> None:
    made = calculated_turn(correct=False)
    turn = made.turns[-1]
    turn.rejected.extend([RejectedTry(role="codegen", rule="wrong_program")] * TRIES)
    turn.rejected.add(role="student", rule="drawn", prompt="soliloquy/student")
    assert programs_sent_back(turn) == []
    assert isinstance(await replied(made), CalculationNeeded)
