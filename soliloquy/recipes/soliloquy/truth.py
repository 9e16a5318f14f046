"""Finds what each turn claims and whether it is true, from the texts and the problem alone."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

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
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Conversation, LedgerEntry, StudentReply, Turn


@dataclass(frozen=True, kw_only=True)
class TurnTruth:
    """Reads a turn once a rule asks for it: most rules are asked of the last turn alone."""

    conversation: Conversation
    turn: Turn
    at: int
    progress: StepProgress
    heard: "_Heard | None"

    @property
    def is_guess(self) -> bool:
        """Whether patterns read both the message and the plan, whose results may be numbers on the way."""
        return self.conversation.problem.plan == PLAN_SOURCE_PROSE and not self.turn.student.claims_by

    @property
    def result(self) -> LedgerEntry | None:
        """Returns the settled result of the step at hand."""
        return self.heard.facts.settled_result(self.progress.step) if self.heard else None

    @property
    def solved(self) -> frozenset[int]:
        """Returns the steps whose results the student has stated so far."""
        return self.heard.until(self.at).solved if self.heard else frozenset()

    @functools.cached_property
    def claim(self) -> StudentAnswer:
        if not self.heard:
            return StudentAnswer()
        is_reason = (
            self.at > 0
            and is_asked_for_reason(self.conversation.turns[self.at - 1])
            and self.progress.step in self.heard.until(self.at - 1).solved
        )
        said, is_person = self.turn.student.SerializeToString(deterministic=True), self.conversation.person
        return _claim(said, self.heard.facts, self.progress.step, is_reason=is_reason, is_person=is_person)

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
        if not self.heard:
            return ()
        heard, text = self.heard.until(self.at), self.turn.tutor.text
        is_read = self.conversation.problem.plan == PLAN_SOURCE_PROSE
        early = informative_quantities(heard.told, heard.before) if is_read else heard.told
        computed = computed_values(self.turn) if is_read else []
        return [*early_results(text, early, heard.mentioned, self.heard.facts, self.progress.step, computed)]


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

    def __init__(self, conversation: Conversation) -> None:
        self.facts = facts_of(conversation.problem.SerializeToString(deterministic=True))
        self._turns: list[_HeardTurn] = []
        self._more = self._hear(conversation)

    def until(self, at: int) -> _HeardTurn:
        while len(self._turns) <= at:
            self._turns.append(next(self._more))
        return self._turns[at]

    def _hear(self, conversation: Conversation) -> Iterator[_HeardTurn]:
        facts = self.facts
        said = set(facts.told)
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
    """Reads nothing unless `by_steps`: about a problem without steps nothing can be compared with anything."""
    nowhere = repeat(StepProgress(step=0, steps=0, wrong_answers=0))
    heard = _Heard(conversation) if by_steps else None
    turns = zip(conversation.turns, progress_by_turn(conversation) if by_steps else nowhere, strict=False)
    return [
        TurnTruth(conversation=conversation, turn=turn, at=at, progress=progress, heard=heard)
        for at, (turn, progress) in enumerate(turns)
    ]


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


# The rules of every role ask this of the same message.
@functools.lru_cache(4096)
def _claim(said: bytes, facts: Facts, step: int, *, is_reason: bool, is_person: bool) -> StudentAnswer:
    """Judges what the speaker says that it claims; reads a message without such, or at a step without a number."""
    turn = Turn(student=StudentReply.FromString(said))
    answer = claimed_answer(turn, facts.problem, step)
    claims = turn.student.claims
    # A record whose message was changed claims what nobody says.
    is_said = all(is_in(turn.student.text, claim) for claim in claims)
    if answer is not None and is_said and (claims or facts.problem.steps[step - 1].HasField("result")):
        return answer
    message = _readable(turn.student.text, is_person=is_person)
    return read_answer(message, quantities_in(message), facts, step, is_reason=is_reason)


def _readable(text: str, *, is_person: bool) -> str:
    """Returns the student's message without markup; that of a person without decimals of another language, too."""
    return plain(text) if is_person else without_markup(text)
