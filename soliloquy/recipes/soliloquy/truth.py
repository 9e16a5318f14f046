"""Finds what each turn claims and whether it is true, from the texts and the problem alone."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from soliloquy.recipes.claims import is_in
from soliloquy.recipes.reached_values import computed_values
from soliloquy.recipes.settled import StudentAnswer, claimed_answer
from soliloquy.recipes.soliloquy.claims import read_answer
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.recipes.soliloquy.early_results import EarlyResult, early_results, informative_quantities
from soliloquy.recipes.soliloquy.facts import Facts, facts_of
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.recipes.soliloquy.progress import StepProgress, is_asked_for_reason, progress_by_turn
from soliloquy.truth.laws import plain
from soliloquy.truth.markup import without_markup
from soliloquy.truth.quantities import WrittenQuantity, calculations_in, quantities_in
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Conversation, LedgerEntry, Turn


@dataclass(frozen=True, kw_only=True)
class TurnTruth:
    turn: Turn
    # The student's message as it is read; the claim's quantity has its place in it.
    said: str
    progress: StepProgress
    # The steps whose results the student has stated so far.
    solved: frozenset[int]
    # Whether patterns read both the message and the plan, whose results may be numbers on the way.
    is_guess: bool = False
    # The settled result of the step at hand.
    result: LedgerEntry | None = None
    # Claims and results are read once a rule asks for them: most rules are asked of the last turn alone.
    read_claim: Callable[[], StudentAnswer] = StudentAnswer
    read_early: Callable[[], Iterable[EarlyResult]] = tuple

    @functools.cached_property
    def claim(self) -> StudentAnswer:
        return self.read_claim()

    @functools.cached_property
    def settled(self) -> StudentAnswer | None:
        """Returns what a settled value says of the claim, or of the step at hand; None if nothing decides it."""
        claim, said = self.claim, self.turn.student
        if said.claims_by and not said.claims and self.result is not None:
            return StudentAnswer(settled=True, entry=self.result)
        if claim.right is None or not claim.settled or (self.is_guess and not claim.right):
            return None
        return claim

    @functools.cached_property
    def early(self) -> Sequence[EarlyResult]:
        return tuple(self.read_early())


@functools.lru_cache(4096)
def _written(text: str) -> Sequence[WrittenQuantity]:
    """Cached: the turns of a conversation are read again with each of its answers."""
    return tuple(quantities_in(text))


@functools.lru_cache(4096)
def _calculations(text: str) -> Sequence[WrittenQuantity]:
    return tuple(calculations_in(text))


def assess(conversation: Conversation) -> Iterator[TurnTruth]:
    facts = facts_of(conversation.problem.SerializeToString(deterministic=True))
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
        if conversation.problem.plan == PLAN_SOURCE_PROSE:
            early = informative_quantities(early, heard)
            computed = computed_values(turn)
        yield TurnTruth(
            turn=turn,
            said=message,
            progress=progress,
            solved=frozenset(solved),
            is_guess=conversation.problem.plan == PLAN_SOURCE_PROSE and not turn.student.claims_by,
            result=facts.settled_result(progress.step),
            read_claim=partial(_claim, turn, message, written, facts, progress.step, is_reason=is_reason),
            read_early=partial(early_results, turn.tutor.text, early, frozenset(said), facts, progress.step, computed),
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
    return asked and bool(last.claim.said) and not last.claim.settled


def settled_answer(conversation: Conversation) -> StudentAnswer | None:
    """Returns what a settled value says of the student's last answer; None if nothing decides it."""
    if not conversation.problem.steps:
        return None
    *_, last = assess(conversation)
    return last.settled


def _claim(
    turn: Turn, message: str, written: Sequence[WrittenQuantity], facts: Facts, step: int, *, is_reason: bool
) -> StudentAnswer:
    """Judges what the speaker says that it claims; reads a message without such, or at a step without a number."""
    answer = claimed_answer(turn, facts.problem, step)
    claims = turn.student.claims
    # A record whose message was changed claims what nobody says.
    is_said = all(is_in(turn.student.text, claim) for claim in claims)
    if answer is not None and is_said and (claims or facts.problem.steps[step - 1].HasField("result")):
        return answer
    return read_answer(message, written, facts, step, is_reason=is_reason)


def _readable(turn: Turn, conversation: Conversation) -> str:
    """Returns the student's message without markup; that of a person without decimals of another language, too."""
    return plain(turn.student.text) if conversation.person else without_markup(turn.student.text)
