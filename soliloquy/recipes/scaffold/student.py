"""The student: hands in the problem, then shows in each turn what was drawn, again where the tutor sends it back."""

from soliloquy.recipes.answers import Spoken
from soliloquy.recipes.scaffold import prompting
from soliloquy.recipes.scaffold.expected_answers import right
from soliloquy.recipes.scaffold.memory import begun, current, questions, solved_before, tracked
from soliloquy.recipes.scaffold.states import CONFUSION, CORRECT, INCORRECT, START, drawn, intent
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Conversation, Ending, StudentReply, Turn
from soliloquy.v1.events_pb2 import (
    ConversationFinished,
    ConversationStarted,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)


async def reply(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    """The next message; what it is to show is our draw and not the model's mood."""
    conversation = event.conversation
    if not conversation.turns:
        return started(event)
    turn = begun(conversation)
    turn.student.learner_state = drawn(conversation)
    turn.student.intent = intent(turn.student.learner_state)
    turn.student.text = await _said(conversation, turn, ask)
    conversation.turns.append(turn)
    return emit(StudentReplied(conversation=conversation))


async def again(event: StudentRejected, ask: Ask) -> Outcome:
    """Another try at the same message, with what was said against those before it."""
    turn = event.conversation.turns[-1]
    turn.student.text = await _said(event.conversation, turn, ask)
    return emit(StudentReplied(conversation=event.conversation))


async def _said(conversation: Conversation, turn: Turn, ask: Ask) -> str:
    return (await ask(prompting.student(conversation, turn), Spoken)).text


def said(conversation: Conversation, text: str) -> None:
    """A person's message; what it shows is for the tutor to find."""
    turn = begun(conversation)
    turn.student.text = text
    conversation.turns.append(turn)


def heard(conversation: Conversation, text: str) -> None:
    """What the message before it showed is told by rule, and the last sub-question taken for unsolved."""
    turn = conversation.turns[-1]
    is_right = right(turn.student.text, current(conversation, turn))
    answering = CONFUSION if is_right is None else CORRECT if is_right else INCORRECT
    state = START if turn.number == 1 else answering
    solved = tracked(conversation, turn, state)
    turn.tutor.text, turn.tutor.learner_state = text, state
    turn.solved[:] = solved_before(conversation, turn) if all(solved) else solved


def started(event: ConversationStarted | TutorReplied) -> Outcome:
    """With the problem handed in."""
    conversation = event.conversation
    enrichment = conversation.problem.enrichment
    if not questions(conversation):
        conversation.turns.add(number=1)
        conversation.ending = Ending.ENDING_UNFIT
        conversation.ending_reason = enrichment.plain_because or "no plan: nobody was asked for one"
        if conversation.attempt:
            # The first attempt tells what was planned.
            del enrichment.calls[:]
        return emit(ConversationFinished(conversation=conversation))
    text = conversation.problem.question
    turn = begun(conversation)
    turn.student.CopyFrom(StudentReply(text=text, learner_state=START, intent=intent(START)))
    conversation.turns.append(turn)
    return emit(StudentReplied(conversation=conversation))
