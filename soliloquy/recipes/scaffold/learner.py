"""Draws what the student knows of the step that a sub-question asks for, and the state that its next message shows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from soliloquy.recipes.learner.knowledge import Shares, Stance, after, drawn
from soliloquy.recipes.rewinding import rewinding_parts
from soliloquy.recipes.scaffold.expected_answers import expects_formula, gives_expected
from soliloquy.recipes.scaffold.labels_pb2 import LearnerState, StudentLabels, SubQuestion, TurnLabels
from soliloquy.recipes.scaffold.memory import current_question, questions, sub_question
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.states import (
    COMPREHENSION,
    CORRECT,
    INCORRECT,
    STATES,
    drawn_state,
    is_understanding_tested,
    learners,
    solving,
)
from soliloquy.runtime.seeds import draw
from soliloquy.texts.phrases import says
from soliloquy.truth.number_format import written_value
from soliloquy.v1.conversation_pb2 import (
    Conversation,
    ErrorStrategy,
    Knowledge,
    Problem,
    Slip,
    Step,
    StudentReply,
    Turn,
)

_KNOWN = Stance(knowledge=Knowledge.KNOWLEDGE_KNOWN)
_CALCULATION = re.compile(r"\S [-+×*/] \S")
_STATES: Mapping[str, Any] = POLICY["states"]
# A slip of the pen: the way is right, and a number is misread or miscalculated.
_PEN = ErrorStrategy.ERROR_STRATEGY_ARITHMETIC
# States that a shaky student shows more often.
_HESITANT = ("question", "confusion")


def draw_learner(conversation: Conversation) -> None:
    """Records in the first turn whether this student's understanding is tested."""
    labels = TurnLabels.FromString(conversation.turns[0].labels)
    labels.understanding_tested = _learner(conversation)["understanding"] == "tested"
    conversation.turns[0].labels = labels.SerializeToString()


def draw_message(conversation: Conversation, turn: Turn) -> tuple[LearnerState, Stance]:
    """Draws the state that the next message shows, and where the student stands at the step."""
    stance = _stance(conversation, turn)
    shares = _shares(conversation, turn, stance)
    choice = _draw(conversation, len(conversation.turns), "state")
    state = STATES[choice.choices(list(shares), list(shares.values()))[0]]
    if is_understanding_tested(conversation):
        return (INCORRECT if stance.mistaken else state) if state == CORRECT else state, stance
    if state == INCORRECT and not stance.mistaken:
        stance = _draw_stance(conversation, turn, mistaken=1.0)
    return state, stance


def stance_of(student: StudentReply) -> Stance:
    """Returns what a student knew when it wrote a message."""
    labels = StudentLabels.FromString(student.labels)
    held = labels.misconception if labels.HasField("misconception") else None
    return Stance(knowledge=labels.knowledge, misconception=held)


def is_later(before: Sequence[Turn], turn: Turn) -> bool:
    """Whether the message before was about the same sub-question; the first one hands the problem in."""
    return len(before) > 1 and sub_question(before[-1]) == sub_question(turn)


def asked_step(problem: Problem, target: SubQuestion) -> Step:
    """Returns the last step that a sub-question covers; the problem's last step if it names none."""
    known = [number for number in target.steps if 1 <= number <= len(problem.steps)]
    return problem.steps[known[-1] - 1] if known else problem.steps[-1]


def wrong_answers(step: Step, target: SubQuestion) -> Iterator[Slip]:
    """Yields the mistakes at a step that do not come to the expected answer anyway."""
    for slip in step.slips:
        if _CALCULATION.search(target.answer) and says(slip.working, target.answer):
            # The way is asked for, and right.
            continue
        given = said(slip, target)
        if gives_expected(given, target) is (False if step.HasField("result") or step.formula else None):
            yield slip


def said(slip: Slip, target: SubQuestion) -> str:
    """Returns what a mistake answers: its formula where one is expected, else its value, or the belief in words."""
    if expects_formula(target.answer):
        return " = ".join(slip.working.split(" = ")[:2])
    return written_value(slip.value, slip.unit) if slip.value else slip.working


def _learner(conversation: Conversation) -> Mapping[str, Any]:
    kinds = learners(conversation)
    choice = draw(conversation.run.seed, conversation.id, "learner")
    return kinds[choice.choices(list(kinds), [kind["share"] for kind in kinds.values()])[0]]


def _stance(conversation: Conversation, turn: Turn) -> Stance:
    """Returns the stance as it was drawn at the first message about a step, or as the tutor's words have left it."""
    if is_later(conversation.turns, turn):
        before = conversation.turns[-1]
        step = asked_step(conversation.problem, current_question(conversation, turn))
        stance = after(stance_of(before.student), before.tutor, step)
        has_erred = any(
            sub_question(one) == sub_question(turn) and drawn_state(one) == INCORRECT for one in conversation.turns
        )
        # Nobody takes back what it has not said.
        return stance if has_erred or stance.mistaken else replace(stance, knowledge=_KNOWN.knowledge)
    *earlier, target = questions(conversation)[: sub_question(turn)]
    # A student who has found the way may still miscalculate.
    knows_way = bool(target.steps) and any(target.steps[-1] in one.steps for one in earlier)
    late = len(conversation.turns) >= _STATES["turns"]
    mistaken = 0.0 if late else _learner(conversation)["mistaken"]
    return _draw_stance(conversation, turn, mistaken=mistaken, knows_way=knows_way)


def _draw_stance(conversation: Conversation, turn: Turn, *, mistaken: float, knows_way: bool = False) -> Stance:
    kind, target = _learner(conversation), current_question(conversation, turn)
    step = Step()
    step.CopyFrom(asked_step(conversation.problem, target))
    fitting = [slip for slip in wrong_answers(step, target) if not knows_way or slip.strategy == _PEN]
    if knows_way and not fitting:
        return _KNOWN
    del step.slips[:]
    step.slips.extend(fitting)
    shares = Shares(mistaken=mistaken, shaky=kind["shaky"], evidence=list(kind["evidence"].values()))
    return drawn(conversation.problem, step, shares, _draw(conversation, turn.number, "knowledge"))


def _shares(conversation: Conversation, turn: Turn, stance: Stance) -> Mapping[str, float]:
    """Returns how often each state is drawn; after the limit of turns only those that make progress."""
    if len(conversation.turns) >= _STATES["turns"]:
        return {name: share for name, share in _STATES["shares"].items() if STATES[name] in solving(conversation)}
    if not is_understanding_tested(conversation):
        shares: Mapping[str, float] = _STATES["shares"]
        return shares
    before = conversation.turns[-1]
    if drawn_state(before) == COMPREHENSION:
        return {"correct": 1.0}
    factor = _STATES["shaky"] if stance.knowledge == Knowledge.KNOWLEDGE_SHAKY else 1.0
    others = {
        name: share * (factor if name in _HESITANT else 1.0)
        for name, share in _STATES["later" if is_later(conversation.turns, turn) else "first"].items()
        # A learner that still believes in its mistake has not understood.
        if not (stance.mistaken and STATES[name] == COMPREHENSION)
    }
    return {**others, "correct": 1 - sum(others.values())}


def _draw(conversation: Conversation, number: int, purpose: str) -> Random:
    return draw(conversation.run.seed, conversation.id, number, purpose, *rewinding_parts(conversation))
