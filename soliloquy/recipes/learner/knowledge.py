"""Draws what a student knows of a step, and lets it hold on to a misconception until evidence changes its mind."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random

from soliloquy.recipes.codes import STRATEGIES
from soliloquy.recipes.learner.evidence import is_bare, strength, values_in
from soliloquy.recipes.plausibility import is_plausible
from soliloquy.texts.phrases import says
from soliloquy.v1.conversation_pb2 import (
    EVALUATION_INCORRECT,
    STEP_KIND_CONVERT,
    ErrorStrategy,
    Knowledge,
    Misconception,
    Problem,
    Slip,
    Step,
    TutorReply,
)

# A value that would startle whoever reads it is drawn this much more rarely, and so is one without a nameable reason.
RARELY = 0.1
# The weights of one, two and three points of evidence that a student wants, as files name them.
EVIDENCE = ("one", "two", "three")
# A learner who is told so often that it is wrong tries something else. The quantities of a plan that was read in prose
# have no names by which hints could be told to fit the mistake.
_TOLD_WRONG = 3
_SAME = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    """The shares of steps at which a student is mistaken or shaky, and the weights of the evidence that it wants."""

    mistaken: float
    shaky: float
    evidence: Sequence[float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stance:
    """A student's knowledge of a step."""

    knowledge: Knowledge
    misconception: Misconception | None = None
    strategy: ErrorStrategy = ErrorStrategy.ERROR_STRATEGY_UNSPECIFIED

    @property
    def mistaken(self) -> bool:
        return self.knowledge == Knowledge.KNOWLEDGE_MISTAKEN


def drawn(problem: Problem, step: Step, shares: Shares, rng: Random) -> Stance:
    """Draws the stance at a step that the student meets for the first time."""
    chance = rng.random()
    if chance < shares.mistaken:
        slip = _drawn_slip(problem, step, rng)
        wanted = rng.choices(range(1, len(shares.evidence) + 1), shares.evidence)[0]
        if slip is not None:
            held = Misconception(
                working=slip.working, value=slip.value, unit=slip.unit, because=slip.because, evidence_wanted=wanted
            )
            return Stance(knowledge=Knowledge.KNOWLEDGE_MISTAKEN, misconception=held, strategy=slip.strategy)
        # Nobody knows a mistake at this step: whoever speaks makes one up.
        return Stance(knowledge=Knowledge.KNOWLEDGE_MISTAKEN, strategy=rng.choice(list(STRATEGIES)))
    shaky = chance < shares.mistaken + shares.shaky
    return Stance(knowledge=Knowledge.KNOWLEDGE_SHAKY if shaky else Knowledge.KNOWLEDGE_KNOWN)


def after(stance: Stance, reply: TutorReply, step: Step) -> Stance:
    """Returns the stance once the tutor's reply has been heard."""
    if not stance.mistaken:
        return Stance(knowledge=stance.knowledge)
    if stance.misconception is None:
        return Stance(knowledge=Knowledge.KNOWLEDGE_CORRECTED)
    held = deepcopy(stance.misconception)
    held.evidence += strength(reply.text, held, step)
    held.told_wrong += reply.evaluation == EVALUATION_INCORRECT and not is_bare(reply.text)
    if held.evidence >= held.evidence_wanted or held.told_wrong >= _TOLD_WRONG:
        return Stance(knowledge=Knowledge.KNOWLEDGE_CORRECTED)
    return Stance(knowledge=stance.knowledge, misconception=held, strategy=stance.strategy)


def _drawn_slip(problem: Problem, step: Step, rng: Random) -> Slip | None:
    # A later step's result would be right, only early.
    later = [other.result.value for other in problem.steps[step.number :] if other.HasField("result")]
    numeric = step.HasField("result")
    slips = [slip for slip in step.slips if not (numeric and any(_is_same(slip.value, value) for value in later))]
    if not slips:
        return None
    return rng.choices(slips, [_weight(slip, step) for slip in slips])[0]


def _weight(slip: Slip, step: Step) -> float:
    if not step.HasField("result"):
        return 1.0
    converts = step.kind == STEP_KIND_CONVERT
    weight = 1.0 if is_plausible(slip.value, step.result.value, slip.unit, converts=converts) else RARELY
    return weight * RARELY if is_miscalculation(slip, step) else weight


def is_miscalculation(slip: Slip, step: Step) -> bool:
    """Whether the right calculation, with the right numbers, comes to another value."""
    if not says(slip.working, step.formula):
        return False
    written = values_in(slip.working)
    return all(any(_is_same(one, known.value) for one in written) for known in step.inputs)


def _is_same(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * abs(other)
