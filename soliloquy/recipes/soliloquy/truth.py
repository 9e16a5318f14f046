"""Finds what each turn claims and whether it is true, from the texts and the problem alone."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from soliloquy.recipes.claims import is_in
from soliloquy.recipes.reached_values import computed_values
from soliloquy.recipes.settled import StudentAnswer, claimed_answer
from soliloquy.recipes.soliloquy.claims import read_answer
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.recipes.soliloquy.early_results import EarlyResult, early_results, informative_quantities
from soliloquy.recipes.soliloquy.facts import Facts
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.recipes.soliloquy.progress import StepProgress, is_asked_for_reason, progress_by_turn
from soliloquy.truth.laws import plain
from soliloquy.truth.markup import without_markup
from soliloquy.truth.quantities import WrittenQuantity, calculations_in, quantities_in
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Conversation, LedgerEntry, Turn


@dataclass(frozen=True, kw_only=True)
class TurnTruth:
    """Reads a turn, and the turns before it, once a rule asks: most rules ask little, and of the last turn alone."""

    heard: "_Heard"
    turn: Turn
    at: int

    @property
    def progress(self) -> StepProgress:
        return self.heard.progress[self.at] if self.heard.facts else StepProgress(step=0, steps=0, wrong_answers=0)

    @property
    def is_guess(self) -> bool:
        """Whether patterns read both the message and the plan, whose results may be numbers on the way."""
        return self.heard.is_read and not self.turn.student.claims_by

    @property
    def result(self) -> LedgerEntry | None:
        """Returns the settled result of the step at hand."""
        return self.heard.facts.settled_result(self.progress.step) if self.heard.facts else None

    @property
    def solved(self) -> frozenset[int]:
        """Returns the steps whose results the student has stated so far."""
        return self.heard.until(self.at).solved if self.heard.facts else frozenset()

    @functools.cached_property
    def claim(self) -> StudentAnswer:
        """Judges what the speaker says that it claims; reads a message without such, or at a step without a number."""
        facts, said, step = self.heard.facts, self.turn.student, self.progress.step
        if not facts:
            return StudentAnswer()
        answer = claimed_answer(self.turn, facts.ledger, step)
        is_told = bool(said.claims) or facts.problem.steps[step - 1].HasField("result")
        # A record whose message was changed claims what nobody says.
        if answer is not None and is_told and all(is_in(said.text, claim) for claim in said.claims):
            return answer
        message = _readable(said.text, is_person=self.heard.conversation.person)
        return read_answer(message, quantities_in(message), facts, step, is_reason=self._is_reason)

    @functools.cached_property
    def settled(self) -> StudentAnswer | None:
        """Returns what a settled value says of the claim, or of the step at hand; None if nothing decides it."""
        claim, said = self.claim, self.turn.student
        if said.claims_by and not said.claims and self.result is not None:
            return StudentAnswer(settled=True, entry=self.result)
        if claim.right is None or not claim.settled or (self.is_guess and not claim.right):
            return None
        return claim

    @property
    def early(self) -> Sequence[EarlyResult]:
        text, is_read, facts = self.turn.tutor.text, self.heard.is_read, self.heard.facts
        if not facts:
            return ()
        told, computed = [*quantities_in(text), *calculations_in(text)], computed_values(self.turn) if is_read else []
        # Earlier messages only make fewer results early.
        if not any(early_results(text, told, (), facts, self.progress.step, computed)):
            return ()
        heard = self.heard.until(self.at)
        early = informative_quantities(heard.told, heard.before) if is_read else heard.told
        return [*early_results(text, early, heard.mentioned, facts, self.progress.step, computed)]

    @property
    def _is_reason(self) -> bool:
        asked = self.at > 0 and is_asked_for_reason(self.heard.conversation.turns[self.at - 1])
        return asked and self.progress.step in self.heard.until(self.at - 1).solved


class _HeardTurn(NamedTuple):
    # The steps whose results the student has stated so far.
    solved: frozenset[int]
    # The results that the tutor may mention: each that has been stated so far.
    mentioned: frozenset[int]
    # The quantities of the tutor's message, and those of all messages before it.
    told: Sequence[WrittenQuantity]
    before: Sequence[WrittenQuantity]


class _Heard:
    """Hears the turns of a conversation in order, as far as anybody asks."""

    def __init__(self, conversation: Conversation, *, by_steps: bool) -> None:
        self.conversation = conversation
        self.is_read = conversation.problem.plan == PLAN_SOURCE_PROSE
        # About a problem without steps nothing can be compared with anything.
        self.facts = Facts(conversation.problem) if by_steps else None
        self._turns: list[_HeardTurn] = []
        self._more = _hear(conversation, self.facts) if self.facts else iter(())

    @functools.cached_property
    def progress(self) -> Sequence[StepProgress]:
        return progress_by_turn(self.conversation)

    def until(self, at: int) -> _HeardTurn:
        while len(self._turns) <= at:
            self._turns.append(next(self._more))
        return self._turns[at]


def _hear(conversation: Conversation, facts: Facts) -> Iterator[_HeardTurn]:
    said = facts.among(facts.question)
    # The results whose calculations the student has written out; the tutor may repeat these, without the result.
    worked: set[int] = set()
    solved: set[int] = set()
    heard = [*facts.question]
    for turn in conversation.turns:
        message = _readable(turn.student.text, is_person=conversation.person)
        written = quantities_in(message)
        found = facts.among(written)
        said |= found
        solved |= {facts.results[place][0] for place in found}
        worked |= facts.among(calculations_in(message))
        told = quantities_in(turn.tutor.text)
        calculated = [one for one in calculations_in(turn.tutor.text) if not (facts.among([one]) & worked)]
        heard += written
        yield _HeardTurn(frozenset(solved), frozenset(said), [*told, *calculated], [*heard])
        if TutorLabels.FromString(turn.tutor.labels).action in GIVING_ACTIONS:
            said |= facts.among([*told, *calculated])
        heard += told


def assess(conversation: Conversation, *, by_steps: bool = True) -> list[TurnTruth]:
    """Returns the turns up to the first without a reply, behind which no progress is known."""
    heard, turns = _Heard(conversation, by_steps=by_steps), conversation.turns
    ended = next((at for at, turn in enumerate(turns, start=1) if by_steps and not turn.HasField("tutor")), len(turns))
    return [TurnTruth(heard=heard, turn=turn, at=at) for at, turn in enumerate(turns[:ended])]


def has_unsettled_number(conversation: Conversation) -> bool:
    """Whether the student's last message answers with a number that nothing has been worked through for."""
    last = assess(conversation)[-1]
    asked = conversation.problem.steps[last.progress.step - 1].HasField("result")
    return asked and bool(last.claim.said) and not last.claim.settled


def settled_answer(conversation: Conversation) -> StudentAnswer | None:
    """Returns what a settled value says of the student's last answer; None if nothing decides it."""
    if not conversation.problem.steps:
        return None
    return assess(conversation)[-1].settled


def _readable(text: str, *, is_person: bool) -> str:
    """Returns the student's message without markup; that of a person without decimals of another language, too."""
    return plain(text) if is_person else without_markup(text)
