"""Finds the misconception behind a wrong solution, and how much the tutor's words speak against it."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from soliloquy.recipes.learner.evidence import strength
from soliloquy.recipes.learner.goals import LearningGoal
from soliloquy.recipes.mathdial.claims import gives_right, holds_answer
from soliloquy.recipes.mathdial.confusion import confusion_of, lines
from soliloquy.recipes.mathdial.labels_pb2 import Belief, ConversationLabels, StudentLabels
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.mathdial.worked_solutions import is_among
from soliloquy.texts.phrases import is_much_like
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.locales import gloss, glossed
from soliloquy.v1.conversation_pb2 import Conversation, Misconception, Problem, Step, Turn


class Believed(NamedTuple):
    """A misconception and the step at which the solution departs from the right one."""

    step: Step
    held: Misconception


def believed(problem: Problem) -> Believed | None:
    """Returns None for a solution without calculations, or a problem whose steps yield no numbers."""
    return _believed(problem.SerializeToString(deterministic=True))


# All conversations about a problem share it.
@lru_cache(1024)
def _believed(serialised: bytes) -> Believed | None:
    problem = Problem.FromString(serialised)
    confusion, language = confusion_of(problem.enrichment), problem.language
    problem = glossed(problem)
    steps = [step for step in problem.steps if step.HasField("result")]
    stated = [
        (number, link.expression.strip(), link.stated)
        for number, line in enumerate(lines(confusion), start=1)
        for link in calculations_of(gloss(line, language))
    ]
    if not steps or not stated:
        return None
    results = [step.result.value for step in steps]
    wrong = (place for place, (_, _, value) in enumerate(stated) if not is_among(value, results))
    named = (place for place, (number, _, _) in enumerate(stated) if number == confusion.first_wrong_step)
    place = next(named, next(wrong, len(stated) - 1))
    _, expression, value = stated[place]
    # The same calculation may be a mistake at several steps.
    nearest = sorted(range(len(steps)), key=lambda at: abs(at - place))
    for step, slip in ((steps[at], slip) for at in nearest for slip in steps[at].slips):
        if is_among(slip.value, [value]) and _tight(expression) in _tight(slip.working):
            return Believed(step, Misconception(working=slip.working, value=slip.value, unit=slip.unit))
    step = steps[min(place, len(steps) - 1)]
    working = f"{step.result.symbol} = {expression}"
    return Believed(step, Misconception(working=working, value=value, unit=step.result.unit))


def reasons_given(conversation: Conversation) -> int:
    """Sums what the tutor's messages say against what the student believes; a repeated message is worth nothing."""
    found = believed(conversation.problem)
    if found is None:
        return 0
    given, said = 0, list[str]()
    # The first message asks for a solution that nobody has told yet.
    for turn in conversation.turns[1:]:
        text = gloss(turn.tutor.text, conversation.problem.language)
        if not any(is_much_like(text, before, POLICY["talk"]["same_words"]) for before in said):
            given += strength(text, found.held, found.step)
        said.append(text)
    return given


def belief_told(before: Sequence[Turn], reasons: int, wanted: int) -> Belief:
    """Returns what a student is told to believe once it has heard so many reasons: what it has given up stays so."""
    if any(StudentLabels.FromString(turn.student.labels).belief == Belief.BELIEF_GIVEN_UP for turn in before):
        return Belief.BELIEF_GIVEN_UP
    if reasons >= wanted:
        return Belief.BELIEF_GIVEN_UP
    doubts = reasons > 0 and reasons >= wanted - POLICY["belief"]["doubting_before"]
    return Belief.BELIEF_DOUBTED if doubts else Belief.BELIEF_HELD


def learning_goals(conversation: Conversation) -> Sequence[LearningGoal]:
    """Returns the only goal: to come to the answer, and to give up the wrong solution."""
    problem, answered, told = conversation.problem, False, False
    for turn in conversation.turns[1:]:
        # A student who still believes in the wrong solution was led to the right number.
        believes = StudentLabels.FromString(turn.student.labels).belief == Belief.BELIEF_HELD
        answered = answered or (gives_right(turn, problem) and not believes and not told)
        told = told or (not answered and holds_answer(turn.tutor.text, problem))
    wanted = ConversationLabels.FromString(conversation.labels).reasons_wanted
    believed_last = belief_told(conversation.turns, reasons_given(conversation), wanted)
    knows = believed_last == Belief.BELIEF_GIVEN_UP
    return [LearningGoal(name="the answer", knew=False, knows=knows, answered=answered, told=told)]


def _tight(text: str) -> str:
    return "".join(text.replace("×", "*").replace("÷", "/").split())
