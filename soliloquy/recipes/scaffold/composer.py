"""The tutor's loop: assesses the message, replies, tracks the plan and records the result."""

from contextlib import suppress
from functools import partial

from soliloquy.recipes.claims import record_claims, stated_with
from soliloquy.recipes.codes import EVALUATIONS
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.outcomes import after_reply
from soliloquy.recipes.scaffold import prompting
from soliloquy.recipes.scaffold.answers import SessionVerdict, Tutored
from soliloquy.recipes.scaffold.fit import check_answer, find_misfit, follows, misfit, send_back, stated_right
from soliloquy.recipes.scaffold.labels_pb2 import ConversationLabels, LearnerState, TutorLabels
from soliloquy.recipes.scaffold.memory import closing_state, solved_after, store_solved
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.states import (
    ANSWERING,
    COMPREHENSION,
    CORRECT,
    END,
    INCORRECT,
    NAMES,
    START,
    STATES,
    UNDRAWN,
    drawn_state,
    solving,
    states,
)
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.runtime.events import Outcome
from soliloquy.v1.conversation_pb2 import Conversation, Judge, Opinion, Resolution, Ruling, Turn
from soliloquy.v1.events_pb2 import ConversationFinished, ReplyNeeded


async def reply(event: ReplyNeeded, ask: Ask, judges: Judges) -> Outcome:
    """Sends a message that does not fit back to the student; otherwise replies.

    The model assesses the message without being told which state was drawn.
    """
    conversation = event.conversation
    turn = conversation.turns[-1]
    if (rejected := find_misfit(conversation, turn)) and not follows(conversation, turn):
        return send_back(conversation, rejected)
    tutored = await ask(prompting.tutoring(conversation, turn), Tutored, partial(_check, conversation=conversation))
    state = closing_state(conversation, turn, STATES[tutored.state])
    if not _fits(tutored, conversation) and not follows(conversation, turn, STATES[tutored.state]):
        return send_back(conversation, misfit(_read_otherwise(conversation, STATES[tutored.state]), Judge.JUDGE_MODEL))
    # For a drawn state, the state that led to the end; for a person, the state that was found.
    shown = drawn_state(turn) or STATES[tutored.state]
    record_claims(turn.tutor, tutored, conversation.problem)
    turn.tutor.thoughts = tutored.analysis
    turn.tutor.labels = TutorLabels(learner_state=state).SerializeToString()
    found = tutored.state if state != END else NAMES[shown]
    turn.tutor.evaluation = EVALUATIONS[states(conversation)[found]["evaluation"]]
    solved = solved_after(conversation, turn, state)
    store_solved(turn, solved)
    # To a student who only understands, the tutor has told the answer.
    solution = Resolution.RESOLUTION_REVEALED if shown == COMPREHENSION else Resolution.RESOLUTION_SOLVED
    [message] = after_reply(conversation, solution if all(solved) else None, most_turns=POLICY["talk"]["most_turns"])
    if isinstance(message, ConversationFinished) and not conversation.person:
        await _judge_session(message.conversation, ask)
    return [message]


async def _judge_session(conversation: Conversation, ask: Ask) -> None:
    """Has the session judged as a whole, as the paper does; an unusable judgement says nothing."""
    with suppress(Unusable):
        verdict = await ask(prompting.judging(conversation), SessionVerdict)
        ruling = Ruling.RULING_YES if verdict.decision == "keep" else Ruling.RULING_NO
        opinion = Opinion(criterion="keep", ruling=ruling, judge="model", because=verdict.reason)
        conversation.labels = ConversationLabels(session=opinion).SerializeToString()


def _check(tutored: Tutored, conversation: Conversation) -> None:
    """Rejects an impossible state, and results that the reply does not tell."""
    stated_with(conversation.problem)(tutored)
    turn = conversation.turns[-1]
    state = STATES[tutored.state]
    if (state == START) != (turn.number == 1):
        raise Unreadable(f"the state cannot be {tutored.state!r} in round {turn.number}")
    if state == END and closing_state(conversation, turn, CORRECT) != END:
        raise Unreadable("the state cannot be 'end' while another sub-question follows")
    if why := _contradiction(state, conversation, turn):
        raise Unreadable(why)


def _contradiction(state: LearnerState, conversation: Conversation, turn: Turn) -> str:
    """A model may find that a message is no answer, but not that a checked answer is wrong or right.

    If nothing has checked an answer, what the solution or the plan states counts more than what the model thinks.
    """
    if drawn_state(turn) not in ANSWERING:
        return ""
    checked = check_answer(conversation, turn).right
    is_right = stated_right(conversation, turn) if checked is None else checked
    if is_right is None or state not in ((INCORRECT,) if is_right else (CORRECT, END)):
        return ""
    how = "compared with the solution" if checked is None else "checked"
    return f"the answer was {how} and is {'right' if is_right else 'wrong'}: the state cannot be {NAMES[state]!r}"


def _read_otherwise(conversation: Conversation, found: LearnerState) -> str:
    """Says to the student how its message was read; what the tutor thinks is for nobody else."""
    meanings = [states(conversation)[NAMES[one]]["meaning"] for one in (found, drawn_state(conversation.turns[-1]))]
    return "it was read so: {}; and was to be one of which it is said: {}".format(*meanings)


def _fits(tutored: Tutored, conversation: Conversation) -> bool:
    """Whether the state is the drawn one; the last sub-question may also be called the end."""
    turn = conversation.turns[-1]
    drawn, state = drawn_state(turn), STATES[tutored.state]
    return drawn == UNDRAWN or state == drawn or (state == END and drawn in solving(conversation))
