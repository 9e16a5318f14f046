"""Finds what each turn claims and whether it is true, from the texts and the problem alone."""

import functools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from soliloquy.recipes.reached_values import computed_values
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.recipes.soliloquy.progress import StepProgress, is_asked_for_reason, progress_by_turn
from soliloquy.truth.algebra_answers import gives_algebra
from soliloquy.truth.laws import holds, laws_in
from soliloquy.truth.numbers import EXACT
from soliloquy.truth.phrases import says, says_exactly
from soliloquy.truth.plain_text import plain
from soliloquy.truth.quantities import WrittenQuantity, calculations_in, is_same, quantities_in
from soliloquy.truth.support import is_supported
from soliloquy.truth.units import NO_UNIT, unit
from soliloquy.v1.conversation_pb2 import (
    STEP_KIND_ALGEBRA,
    STEP_KIND_CONCEPT,
    STEP_KIND_KNOWNS,
    Conversation,
    Problem,
    Quantity,
    Step,
    Turn,
)

# A tutor's hint within this distance of a result reveals it; a student's answer has the problem's own tolerance.
HIDDEN_TOLERANCE = 0.005
_SHORT_REPLY = 6
# Kinds of units that may express a part of something.
_SHARES = (NO_UNIT.kind, unit("%").kind)
_ABOUT = re.compile(
    r"\b(?:over|above|under|below|more than|less than|nearly|almost|close to|just|roughly|about)\b[\w\s]*$", re.I
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """The student's answer and whether it is right; None if it is neither right nor wrong."""

    quantity: WrittenQuantity | None = None
    right: bool | None = None
    # Tells whether it was compared with something that was worked through, which takes long.
    support: Callable[[], bool] = bool

    @property
    def settled(self) -> bool:
        return self.support()


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyResult:
    """A result that the tutor's message reveals before the student has reached it."""

    step: int
    text: str


@dataclass(frozen=True, kw_only=True)
class TurnTruth:
    turn: Turn
    # The student's message as it is read; the claim's quantity has its place in it.
    said: str
    progress: StepProgress
    # The steps whose results the student has stated so far.
    solved: frozenset[int]
    # Claims and results are read once a rule asks for them: most rules are asked of the last turn alone.
    read_claim: Callable[[], Claim] = Claim
    read_early: Callable[[], Iterable[EarlyResult]] = tuple

    @functools.cached_property
    def claim(self) -> Claim:
        return self.read_claim()

    @functools.cached_property
    def early(self) -> Sequence[EarlyResult]:
        return tuple(self.read_early())


class Facts:
    """The facts of a problem: its results, the values of its symbols, and the results that its question reveals."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.tolerance = problem.tolerance or 0.01
        self.results = [(step.number, step.result) for step in problem.steps if step.HasField("result")]
        results = {(result.value, result.unit) for _, result in self.results}
        if problem.HasField("answer") and (problem.answer.value, problem.answer.unit) not in results:
            self.results.append((len(problem.steps), problem.answer))
        derived = {result.symbol for _, result in self.results}
        self.givens = [given for step in problem.steps for given in step.inputs if given.symbol not in derived]
        self.question = quantities_in(problem.question)
        # The results that the question itself reveals.
        self.told = frozenset(self.among(self.question))
        # Each symbol's value in base units, as the laws need it.
        self.values: dict[str, float] = {}
        for quantity in (*self.givens, *(result for _, result in self.results)):
            known = unit(quantity.unit)
            self.values[quantity.symbol] = quantity.value * known.factor + known.offset

    def among(self, written: Sequence[WrittenQuantity]) -> set[int]:
        """Returns the indexes of the results that occur in these quantities."""
        return {
            place
            for place, (_, result) in enumerate(self.results)
            if any(_is(one, result, self.tolerance) for one in written)
        }

    def is_given(self, written: WrittenQuantity) -> bool:
        if any(written.value == number.value and _alike(written, number) for number in self.question):
            return True
        return any(_is(written, given, 1e-9) and _has_zero_of(written, given) for given in self.givens)

    def reached(self, written: WrittenQuantity, first: int) -> int | None:
        """Returns the first step, from `first` on, that has this result."""
        return next((n for n, result in self.results if n >= first and _is(written, result, self.tolerance)), None)


@functools.lru_cache(256)
def _facts(problem: bytes) -> Facts:
    """Cached: all conversations about a problem share its facts."""
    return Facts(Problem.FromString(problem))


@functools.lru_cache(4096)
def _written(text: str) -> Sequence[WrittenQuantity]:
    """Cached: the turns of a conversation are read again with each of its answers."""
    return tuple(quantities_in(text))


@functools.lru_cache(4096)
def _calculations(text: str) -> Sequence[WrittenQuantity]:
    return tuple(calculations_in(text))


def assess(conversation: Conversation) -> Iterator[TurnTruth]:
    facts = _facts(conversation.problem.SerializeToString(deterministic=True))
    # The tutor may mention every result that has been stated so far.
    said = set(facts.told)
    # The results whose calculations the student has written out; the tutor may repeat these, without the result.
    worked: set[int] = set()
    solved: set[int] = set()
    heard = [*facts.question]
    for at, (turn, progress) in enumerate(zip(conversation.turns, progress_by_turn(conversation), strict=False)):
        is_reason = progress.step in solved and is_asked_for_reason(conversation.turns[at - 1])
        message = _readable(turn, conversation)
        written = _written(message)
        found = facts.among(written)
        said |= found
        solved |= {facts.results[place][0] for place in found}
        worked |= facts.among(_calculations(message))
        told = _written(turn.tutor.text)
        calculated = [one for one in _calculations(turn.tutor.text) if not (facts.among([one]) & worked)]
        heard += written
        early = [*told, *calculated]
        computed: list[float] = []
        if conversation.problem.read_plan:
            early = [one for one in early if _is_telling(one) and not _is_heard(one, heard)]
            computed = computed_values(turn)
        yield TurnTruth(
            turn=turn,
            said=message,
            progress=progress,
            solved=frozenset(solved),
            read_claim=partial(_claim, message, written, facts, progress.step, is_reason=is_reason),
            read_early=partial(_early, turn.tutor.text, early, frozenset(said), facts, progress.step, computed),
        )
        if TutorLabels.FromString(turn.tutor.labels).action in GIVING_ACTIONS:
            said |= facts.among([*told, *calculated])
        heard += told


def unassessed(turn: Turn) -> TurnTruth:
    """Returns a turn of a problem without steps, whose claims cannot be compared with anything."""
    return TurnTruth(
        turn=turn,
        said=turn.student.text,
        progress=StepProgress(step=0, steps=0, wrong_answers=0),
        solved=frozenset(),
    )


def has_unsettled_number(conversation: Conversation) -> bool:
    """Whether the student's last message answers with a number that nothing has been worked through for."""
    *_, last = assess(conversation)
    asked = conversation.problem.steps[last.progress.step - 1].HasField("result")
    return asked and last.claim.quantity is not None and not last.claim.settled


def _readable(turn: Turn, conversation: Conversation) -> str:
    """Returns the student's message; that of a person without LaTeX, Markdown and decimals of another language."""
    return plain(turn.student.text) if conversation.person else turn.student.text


def _claim(text: str, written: Sequence[WrittenQuantity], facts: Facts, number: int, *, is_reason: bool) -> Claim:
    """Reads no answer in the numbers of a reason, unless one is the result."""
    claim = _answer(text, written, facts, number)
    return Claim() if is_reason and claim.quantity is not None and not claim.right else claim


def _answer(text: str, written: Sequence[WrittenQuantity], facts: Facts, number: int) -> Claim:
    step = facts.problem.steps[number - 1]
    if (named := _named_quantity(text, written, step)) is not None:
        return Claim(
            quantity=named,
            right=_is(named, step.result, facts.tolerance),
            support=partial(is_supported, step, facts.problem),
        )
    if step.kind == STEP_KIND_ALGEBRA and (right := gives_algebra(text, step.formula)) is not None:
        # The numbers of an equation are none of the results.
        return Claim(right=right, support=lambda: True)
    quantity = _final_quantity(text, written, facts, number)
    if quantity is not None and (reached := facts.reached(quantity, number)):
        supported = partial(is_supported, facts.problem.steps[reached - 1], facts.problem)
        return Claim(quantity=quantity, right=True, support=supported)
    if not step.HasField("result"):
        right = _statement(text, written, step, facts)
        return Claim(quantity=quantity, right=right, support=lambda: right is not None)
    if quantity is None:
        return Claim()
    return Claim(quantity=quantity, right=False, support=partial(is_supported, step, facts.problem))


def _named_quantity(text: str, written: Sequence[WrittenQuantity], step: Step) -> WrittenQuantity | None:
    """Returns the last quantity that a message names as the one asked for: "so the speed is 5 m/s"."""
    called = _calling(step.result.name)
    stated = [one for one in written if one.stated and not one.term] if step.result.name else []
    found = [one for one in stated if called.search(text[: one.start])]
    return found[-1] if found else None


@functools.lru_cache(2048)
def _calling(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:the|my|its)\s+{re.escape(name)}\W+(?:\w+\W+){{0,2}}$", re.IGNORECASE)


def _final_quantity(text: str, written: Sequence[WrittenQuantity], facts: Facts, number: int) -> WrittenQuantity | None:
    """Returns the quantity that a message ends with, preferably in digits and in the unit asked for."""
    step = facts.problem.steps[number - 1]
    short = len(text.split()) <= _SHORT_REPLY
    loose = [one for one in written if not one.term and (short or not _is_weak(one))]
    worked = any(one.term for one in written)
    open_ = [one for one in loose if (worked and one.stated) or not facts.is_given(one) or facts.reached(one, number)]
    if short and not open_ and len(written) == 1 and "?" not in text:
        # The message holds nothing else, so even a given value is meant as the answer.
        open_ = loose
    kind = unit(step.result.unit).kind if step.HasField("result") else ""
    in_kind = [one for one in open_ if one.unit is not None and one.unit.kind == kind]
    stated = [one for one in open_ if one.stated]
    chosen = in_kind or stated or (open_ if short or "?" not in text else [])
    # "0.33 T, since a thousand millitesla are one tesla"
    in_digits = [one for one in chosen if not one.spelled]
    return next(reversed(in_digits or chosen), None)


def _statement(text: str, written: Sequence[WrittenQuantity], step: Step, facts: Facts) -> bool | None:
    """Judges the answer to a step without a number: its law, its idea, or the values it lists."""
    if says_exactly(text, step.formula):
        return True
    if any(says(text, slip.working) for slip in step.slips):
        return False
    if step.kind == STEP_KIND_KNOWNS and step.inputs:
        found = [any(_is(one, known, facts.tolerance) for one in written) for known in step.inputs]
        return True if all(found) else None
    if step.kind == STEP_KIND_CONCEPT:
        idea = re.split(r"(?<=[.!?])\s", step.explanation, maxsplit=1)[0]
        return True if says(text, idea) else None
    if step.formula and says(text, step.formula):
        return True
    judged = [held for held in (holds(*sides, facts.values) for sides in laws_in(text)) if held is not None]
    return judged[-1] if judged else None


def _early(
    text: str,
    told: Sequence[WrittenQuantity],
    said: Collection[int],
    facts: Facts,
    number: int,
    computed: Sequence[float],
) -> Iterator[EarlyResult]:
    hidden = [(at, result) for place, (at, result) in enumerate(facts.results) if at >= number and place not in said]
    unreached = {at for at, _ in hidden}
    reached = [result for at, result in facts.results if at <= number and at not in unreached]
    for one in told:
        if _is_weak(one) or facts.is_given(one) or any(_is_as_written(one, result, facts) for result in reached):
            continue
        if any(math.isclose(one.value, value, rel_tol=HIDDEN_TOLERANCE) for value in computed):
            # The tutor asks for the result of its own program, whatever was read of the plan.
            yield EarlyResult(step=number, text=text[one.start : one.end].strip())
            continue
        # The same quantity in another unit may be a later step's result.
        at = next((at for at, result in hidden if _hints_at(text, one, result)), None)
        if at is not None:
            yield EarlyResult(step=at, text=text[one.start : one.end].strip())


def _hints_at(text: str, one: WrittenQuantity, result: Quantity) -> bool:
    wanted = unit(result.unit)
    if one.digits == EXACT and one.word.endswith("s") and wanted != NO_UNIT and not wanted.kind.startswith("counted "):
        # Two distances are not 2 cm.
        return False
    if one.digits == EXACT and one.unit is None and wanted.kind not in _SHARES and text.startswith(" of ", one.end):
        # A quarter of a wave is not 0.25 m, but may be 25 %.
        return False
    # What gives a result away need not be exact.
    if is_same(one, result.value, result.unit, HIDDEN_TOLERANCE, roughly=True):
        return True
    if one.digits < 2 or not _ABOUT.search(text[max(0, one.start - 24) : one.start]):
        return False
    return is_same(one, result.value, result.unit, 0.03, roughly=True)


def _is_telling(written: WrittenQuantity) -> bool:
    """Whether a number is unlikely to be a factor, a count or zero: it has a unit or two digits, and no fraction."""
    return bool(written.value) and written.digits < EXACT and (written.unit is not None or written.digits > 1)


def _is_heard(written: WrittenQuantity, heard: Iterable[WrittenQuantity]) -> bool:
    """Whether somebody has said the number, in whatever unit the reader finds."""
    return any(math.isclose(abs(written.value), abs(one.value), rel_tol=HIDDEN_TOLERANCE) for one in heard)


def _is_as_written(written: WrittenQuantity, result: Quantity, facts: Facts) -> bool:
    """Whether this is the result in its own unit; in another unit it may be a later step's conversion."""
    own = unit(result.unit)
    alike = written.unit is not None and (written.unit.kind, written.unit.factor) == (own.kind, own.factor)
    return alike and _is(written, result, facts.tolerance)


def _is(written: WrittenQuantity, quantity: Quantity, tolerance: float) -> bool:
    return is_same(written, quantity.value, quantity.unit, tolerance)


def _alike(written: WrittenQuantity, other: WrittenQuantity) -> bool:
    if written.unit is None or other.unit is None:
        return written.unit is None
    # The same number in another unit of the kind is a forgotten conversion.
    one, another = written.unit, other.unit
    return (one.kind, one.factor, one.offset) == (another.kind, another.factor, another.offset)


def _has_zero_of(written: WrittenQuantity, quantity: Quantity) -> bool:
    """Whether both scales share a zero: 85 K is not the given 85 °C."""
    return written.unit is None or written.unit.offset == unit(quantity.unit).offset


def _is_weak(written: WrittenQuantity) -> bool:
    """A small bare number is more often a factor, an exponent or a count than a result."""
    return written.digits == 1 and written.unit is None and not written.stated and abs(written.value) < 10
