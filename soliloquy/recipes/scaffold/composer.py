"""The tutor's loop: assess the message, act on it, track the plan, record what was found."""

from functools import partial

from soliloquy.recipes.codes import EVALUATIONS as LETTERS
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.scaffold import prompting
from soliloquy.recipes.scaffold.answers import Tutored
from soliloquy.recipes.scaffold.fit import check_answer, find_misfit, send_back
from soliloquy.recipes.scaffold.memory import closing_state, solved_after
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.reply_rules import reply_faults
from soliloquy.recipes.scaffold.states import (
    ANSWERING,
    COMPREHENSION,
    CORRECT,
    END,
    EVALUATIONS,
    INCORRECT,
    NAMES,
    SOLVING,
    START,
    STATES,
    UNDRAWN,
)
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import Outcome, emit
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Judge, LearnerState, RejectedTry, Resolution, Turn
from soliloquy.v1.events_pb2 import ConversationFinished, ReplyNeeded, TutorReplied


async def reply(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    """A message that does not fit goes back before the tutor has said a word to it.

    What only a model can tell, it tells without knowing what was drawn.
    """
    conversation = event.conversation
    turn = conversation.turns[-1]
    if rejected := find_misfit(conversation, turn):
        return send_back(conversation, rejected)
    tutored = await ask(prompting.tutoring(conversation, turn), Tutored, partial(_check, conversation=conversation))
    state = closing_state(conversation, turn, STATES[tutored.state])
    # What led to the end, as it was drawn; a person's message shows what was found.
    shown = turn.student.learner_state or STATES[tutored.state]
    if not _fits(tutored, conversation):
        return send_back(conversation, RejectedTry(because=tutored.analysis, judge=Judge.JUDGE_MODEL))
    turn.tutor.text, turn.tutor.thoughts, turn.tutor.learner_state = tutored.reply, tutored.analysis, state
    turn.tutor.evaluation = LETTERS[EVALUATIONS[tutored.state if state != END else NAMES[shown]]]
    turn.solved[:] = solved_after(conversation, turn, state)
    if all(turn.solved):
        conversation.ending, conversation.resolution = Ending.ENDING_SOLVED, _resolution(shown)
    elif len(conversation.turns) >= min(conversation.run.max_turns, POLICY["talk"]["most_turns"]):
        conversation.ending, conversation.resolution = Ending.ENDING_TURN_LIMIT, Resolution.RESOLUTION_UNSOLVED
    else:
        return emit(TutorReplied(conversation=conversation))
    return emit(ConversationFinished(conversation=conversation))


def _check(tutored: Tutored, conversation: Conversation) -> None:
    """What is asked for again: a state that cannot be, and a reply that is sent and should not be as it is."""
    turn = conversation.turns[-1]
    state = STATES[tutored.state]
    if (state == START) != (turn.number == 1):
        raise Unreadable(f"the state cannot be {tutored.state!r} in round {turn.number}")
    if state == END and closing_state(conversation, turn, CORRECT) != END:
        raise Unreadable("the state cannot be 'end' while another sub-question follows")
    if why := _against_what_was_found(state, conversation, turn):
        raise Unreadable(why)
    if _fits(tutored, conversation):
        settled = closing_state(conversation, turn, state)
        for _, slip in reply_faults(tutored.reply, tutored.analysis, settled, conversation, turn):
            raise Unreadable(slip)


def _against_what_was_found(state: LearnerState, conversation: Conversation, turn: Turn) -> str:
    """A model may find that a message is no answer at all, but not that a right one is wrong."""
    if turn.student.learner_state not in ANSWERING:
        return ""
    is_right = check_answer(conversation, turn).right
    if is_right is None or state not in ((INCORRECT,) if is_right else (CORRECT, END)):
        return ""
    return f"the answer was checked and is {'right' if is_right else 'wrong'}: the state cannot be {NAMES[state]!r}"


def _fits(tutored: Tutored, conversation: Conversation) -> bool:
    """Whether the state is the one that was drawn; at the end it may be called so or by what led to it."""
    turn = conversation.turns[-1]
    drawn, state = turn.student.learner_state, STATES[tutored.state]
    return drawn == UNDRAWN or state == drawn or (state == END and drawn in SOLVING)


def _resolution(shown: LearnerState) -> Resolution:
    """Solved by the student itself, or told by the tutor when the student had said that it understood."""
    return Resolution.RESOLUTION_REVEALED if shown == COMPREHENSION else Resolution.RESOLUTION_SOLVED
