"""Checks whether a student's message shows the drawn state, and sends it back if it does not."""

from dataclasses import replace
from typing import NamedTuple

from soliloquy.recipes import settled
from soliloquy.recipes.agreement import code_verdict
from soliloquy.recipes.glosses import glossed_turn
from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.scaffold.expected_answers import (
    expects_formula,
    expects_number,
    gives_expected,
    revealed,
)
from soliloquy.recipes.scaffold.labels_pb2 import LearnerState, SubQuestion
from soliloquy.recipes.scaffold.learner import is_later, stance_of
from soliloquy.recipes.scaffold.memory import STATE, current_question, glossed_with_plan, misfits, plan_of, sub_question
from soliloquy.recipes.scaffold.plan_rules import is_worked_through
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.states import (
    ANSWERING,
    COMPREHENSION,
    CORRECT,
    END,
    INCORRECT,
    NAMES,
    START,
    UNDRAWN,
    drawn_state,
    mark,
    states,
)
from soliloquy.recipes.settled import StudentAnswer
from soliloquy.runtime.events import Outcome, emit
from soliloquy.truth.judge import fits_stated
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.quantities import calculations_in, quantities_in
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Judge, Knowledge, RejectedTry, Turn
from soliloquy.v1.events_pb2 import StudentRejected

TRIES_AGAIN: int = POLICY["mending"]["tries"]["student"]


class AnswerCheck(NamedTuple):
    """Whether a message gives the expected answer, None if unknown, and who decided that."""

    right: bool | None
    judge: Judge


def _glossed(conversation: Conversation, turn: Turn) -> tuple[Conversation, Turn]:
    return glossed_with_plan(conversation), glossed_turn(turn, conversation.problem.language)


def needs_calculation(conversation: Conversation, turn: Turn) -> bool:
    """Whether a message may answer with a number that nothing settled decides, so that a program has to check it."""
    conversation, turn = _glossed(conversation, turn)
    answers = drawn_state(turn) in ANSWERING and expects_number(current_question(conversation, turn))
    return answers and _gives_number(turn) and settled_answer(conversation, turn) is None


def _gives_number(turn: Turn) -> bool:
    said = turn.student
    return bool(said.claims if said.claims_by else [*quantities_in(said.text), *calculations_in(said.text)])


def check_answer(conversation: Conversation, turn: Turn) -> AnswerCheck:
    """Judges numbers by settled values, else by the program that ran, and formulas by algebra in all their forms.

    A program against what the solution or the plan states leaves it open: one of both is wrong, and nobody knows which.
    """
    conversation, turn = _glossed(conversation, turn)
    if known := settled_answer(conversation, turn):
        return AnswerCheck(known.right, Judge.JUDGE_LEDGER)
    if (ran := code_verdict(turn.calculation)) is not None:
        agrees = stated_right(conversation, turn) in (ran, None)
        return AnswerCheck(ran if agrees else None, Judge.JUDGE_CODE)
    target = current_question(conversation, turn)
    if turn.student.claims_by and expects_number(target):
        return AnswerCheck(None, Judge.JUDGE_LEDGER)
    by = Judge.JUDGE_ALGEBRA if expects_formula(target.answer) else Judge.JUDGE_RULE
    return AnswerCheck(gives_expected(turn.student.text, target), by)


def settled_answer(conversation: Conversation, turn: Turn) -> StudentAnswer | None:
    """Returns what settled values say of the answer to a sub-question; None if nothing decides it."""
    conversation, turn = _glossed(conversation, turn)
    target = current_question(conversation, turn)
    if drawn_state(turn) not in ANSWERING or not expects_number(target):
        return None
    entry = ledger_of(conversation.problem).of_step(_last_step(target))
    return settled.settled_answer(turn, conversation.problem, entry)


def stated_right(conversation: Conversation, turn: Turn) -> bool | None:
    """Whether a message gives what the solution states, or else the plan, settled or not; None if that is unknown."""
    conversation, turn = _glossed(conversation, turn)
    target = current_question(conversation, turn)
    stated = fits_stated(turn.student.claims, ledger_of(conversation.problem), _last_step(target))
    return gives_expected(turn.student.text, target) if stated is None else stated


def _last_step(target: SubQuestion) -> int:
    return max(target.steps, default=0)


def needs_program(conversation: Conversation, turn: Turn) -> bool:
    return needs_calculation(conversation, turn) and not turn.HasField("calculation")


def is_settled(conversation: Conversation, turn: Turn) -> bool:
    """Whether the expected answer was worked through, so that a number unlike it needs no program to be wrong."""
    return is_worked_through(sub_question(turn), plan_of(conversation.problem), conversation.problem)


def find_misfit(conversation: Conversation, turn: Turn) -> RejectedTry | None:
    """Returns why a message does not show its state; None if it does, or if only a model can tell."""
    conversation, turn = _glossed(conversation, turn)
    state = drawn_state(turn)
    if state in (START, UNDRAWN):
        return None
    because, judge = (_answer_misfit if state in (CORRECT, INCORRECT) else _other_misfit)(conversation, turn)
    return misfit(because, judge) if because else None


def misfit(because: str, judge: Judge) -> RejectedTry:
    certain = judge in (Judge.JUDGE_CODE, Judge.JUDGE_ALGEBRA, Judge.JUDGE_LEDGER)
    return RejectedTry(role="student", rule=STATE, because=because, judge=judge, certain=certain)


def may_differ(conversation: Conversation, turn: Turn) -> bool:
    """Whether a message may show another state than the drawn one: the last try may, and an insight."""
    return is_last_try(turn) or _has_been_answered(conversation, turn)


def is_last_try(turn: Turn) -> bool:
    return len(misfits(turn)) >= TRIES_AGAIN


def _has_been_answered(conversation: Conversation, turn: Turn) -> bool:
    """Whether the tutor has spoken about the mistake that a message is to make once more."""
    return _is_mistaken(turn) and is_later(conversation.turns[: turn.number - 1], turn)


def _is_mistaken(turn: Turn) -> bool:
    return drawn_state(turn) == INCORRECT and stance_of(turn.student).misconception is not None


def follows(conversation: Conversation, turn: Turn, shown: LearnerState | None = None) -> bool:
    """Gives a message that may differ the state that it shows, in place of the drawn one; False if it shows none.

    The tutor answers what was said; the tries before it tell which state was drawn. Who sees a mistake by the tutor's
    words says so at any try: nobody has to repeat what was taken apart.
    """
    drawn, stance = drawn_state(turn), stance_of(turn.student)
    if not may_differ(conversation, turn):
        return False
    if shown == END:
        shown = CORRECT
    if shown is None and drawn in (CORRECT, INCORRECT) and check_answer(conversation, turn).right is not None:
        shown = INCORRECT if drawn == CORRECT else CORRECT
    has_insight = _is_mistaken(turn) and shown in (CORRECT, COMPREHENSION)
    if shown is None or NAMES[shown] not in POLICY["states"]["shares"] or not (is_last_try(turn) or has_insight):
        return False
    mark(turn, shown, replace(stance, knowledge=Knowledge.KNOWLEDGE_CORRECTED) if has_insight else None)
    if needs_program(conversation, turn) or find_misfit(conversation, turn):
        mark(turn, drawn, stance)
        return False
    return True


def send_back(conversation: Conversation, rejected: RejectedTry) -> Outcome:
    """Repeats the turn, or ends the conversation with the reason after the student's last try."""
    turn = conversation.turns[-1]
    student = turn.student
    rejected.text = student.text
    if turn.HasField("calculation"):
        rejected.calculation.CopyFrom(turn.calculation)
        turn.ClearField("calculation")
    turn.rejected.append(rejected)
    student.text = ""
    tries = len(misfits(turn))
    if tries <= TRIES_AGAIN:
        return emit(StudentRejected(conversation=conversation))
    why = (
        f"rejected: {tries} messages of turn {turn.number} do not show "
        f"{NAMES[drawn_state(turn)]!r}, the last because {rejected.because}"
    )
    return finish(conversation, Ending.ENDING_REJECTED, why)


def _answer_misfit(conversation: Conversation, turn: Turn) -> tuple[str, Judge]:
    """Returns what is wrong with a message that is to answer."""
    target, wanted = current_question(conversation, turn), drawn_state(turn) == CORRECT
    is_right, judge = check_answer(conversation, turn)
    if is_right is None:
        lacks_number = expects_number(target) and not _gives_number(turn)
        return ("it gives no number for an answer" if lacks_number else ""), judge
    if is_right == wanted:
        return "", judge
    return f"its answer is {'right' if is_right else 'wrong'}, and was to be {'right' if wanted else 'wrong'}", judge


def _other_misfit(conversation: Conversation, turn: Turn) -> tuple[str, Judge]:
    """Returns what is wrong with a message that is not to answer."""
    name = NAMES[drawn_state(turn)]
    target, text = current_question(conversation, turn), turn.student.text
    known = f"{conversation.problem.question}\n{target.question}"
    if any(revealed(text, [target], known)):
        return (
            f"it gives the answer, and was to be one of which it is said: {states(conversation)[name]['meaning']}",
            Judge.JUDGE_RULE,
        )
    if name == "question" and "?" not in text:
        return "it asks nothing, and was to ask something", Judge.JUDGE_RULE
    return "", Judge.JUDGE_RULE
