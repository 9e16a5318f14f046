"""Plays the student: hands in the problem, then shows the drawn state in each turn, again after a rejection."""

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.claims import record_claims, stated_with
from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.scaffold import prompting
from soliloquy.recipes.scaffold.expected_answers import gives_expected
from soliloquy.recipes.scaffold.labels_pb2 import TutorLabels
from soliloquy.recipes.scaffold.learner import draw_learner, draw_message
from soliloquy.recipes.scaffold.memory import (
    current_question,
    glossed_with_plan,
    next_turn,
    questions,
    solved_after,
    solved_before,
    store_solved,
)
from soliloquy.recipes.scaffold.states import CONFUSION, CORRECT, INCORRECT, START, mark
from soliloquy.recipes.tutors import draw_tutor
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Turn
from soliloquy.v1.events_pb2 import ConversationStarted, StudentRejected, StudentReplied, TutorReplied


async def reply(event: ConversationStarted | TutorReplied, ask: Ask) -> Outcome:
    """Writes the next message. We draw the state that it shows; the model does not decide."""
    conversation = event.conversation
    if not conversation.turns:
        return open_conversation(event)
    turn = next_turn(conversation)
    mark(turn, *draw_message(glossed_with_plan(conversation), turn))
    await _ask_for_message(conversation, turn, ask)
    conversation.turns.append(turn)
    return emit(StudentReplied(conversation=conversation))


async def retry(event: StudentRejected, ask: Ask) -> Outcome:
    """Rewrites the message, given the reasons for which earlier tries were rejected."""
    turn = event.conversation.turns[-1]
    await _ask_for_message(event.conversation, turn, ask)
    return emit(StudentReplied(conversation=event.conversation))


async def _ask_for_message(conversation: Conversation, turn: Turn, ask: Ask) -> None:
    check = stated_with(conversation.problem)
    spoken = await ask(prompting.student(conversation, turn), StudentMessage, check)
    record_claims(turn.student, spoken, conversation.problem)


def record_message(conversation: Conversation, text: str) -> None:
    """Adds a person's message; the tutor finds the state that it shows."""
    turn = next_turn(conversation)
    turn.student.text = text
    conversation.turns.append(turn)


def record_reply(conversation: Conversation, text: str) -> None:
    """Adds an earlier reply: rules assess the message before it, and the last sub-question counts as unsolved."""
    turn = conversation.turns[-1]
    is_right = gives_expected(turn.student.text, current_question(conversation, turn))
    answering = CONFUSION if is_right is None else CORRECT if is_right else INCORRECT
    state = START if turn.number == 1 else answering
    solved = solved_after(conversation, turn, state)
    turn.tutor.text, turn.tutor.labels = text, TutorLabels(learner_state=state).SerializeToString()
    store_solved(turn, solved_before(conversation, turn) if all(solved) else solved)


def open_conversation(event: ConversationStarted | TutorReplied) -> Outcome:
    """Hands in the problem; ends the conversation if there is no plan."""
    conversation = event.conversation
    enrichment = conversation.problem.enrichment
    if not questions(conversation):
        conversation.turns.add(number=1)
        if conversation.attempt:
            # The first attempt at the problem already records the planner's calls.
            del enrichment.calls[:]
        why = enrichment.plain_because or "no plan: nobody was asked for one"
        return finish(conversation, Ending.ENDING_UNFIT, why)
    record_message(conversation, conversation.problem.question)
    draw_learner(conversation)
    draw_tutor(conversation, prompting.TEMPLATES.of(conversation.run.prompts))
    mark(conversation.turns[-1], START)
    return emit(StudentReplied(conversation=conversation))
