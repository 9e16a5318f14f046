"""Runs one role of a recipe on an event, and again where a rule sends its answer back."""

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TypeVar

from soliloquy.recipes.outcomes import finish
from soliloquy.recipes.recipe import Recipe
from soliloquy.recipes.rewinding import rewinding_parts
from soliloquy.recipes.rules import Broken, Rules
from soliloquy.recipes.templates import latest_exchange
from soliloquy.recipes.turn_faults import claim_calls, faults_in, reason_of, rejected, settled
from soliloquy.recipes.words import words
from soliloquy.runtime.ask import Answered, Ask, SentBack, Unusable
from soliloquy.runtime.events import ConversationEvent, Outcome
from soliloquy.runtime.model import NO_RESERVE, Model, Reserve
from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Ending, RejectedTry, Turn
from soliloquy.v1.events_pb2 import ConversationStarted, StudentRejected, TutorReplied

E = TypeVar("E", bound=ConversationEvent)
Act = Callable[[E, Ask], Awaitable[Outcome]]


async def play(event: E, act: Act[E], *, role: str, model: Model) -> Outcome:
    """Runs a role on an event and stores every raw model answer in the conversation's last turn.

    If the model's answers stay unusable, the conversation ends with that as the reason.
    """
    version = await _version(event, act, role, model, _Attempt())
    _record_calls(version, ())
    return version.outcome


async def play_by_rules(
    event: E,
    act: Act[E],
    *,
    role: str,
    model: Model,
    recipe: Recipe,
    reserve: Reserve = NO_RESERVE,
    before: Turn | None = None,
    earlier: Sequence[RejectedTry] = (),
) -> Outcome:
    """Runs a role, and again with the reason while its answer breaks a rule that can be asked of it.

    After the tries that the rules allow come the versions of `best_of`, then the fallback. The version with the fewest
    faults stands. A fault that condemns it takes turns back, or ends the conversation. `before` is the turn as it was
    when its message was sent back, and `earlier` has the answers that were.
    """
    rules = recipe.rules
    if rules is None:
        return await play(event, act, role=role, model=model)
    tried: list[_Version] = []
    sent_back = _sent_back_before(before or event.conversation.turns[-1], earlier) if earlier else []
    for attempt in _attempts(tried, rules, reserve, sent_back):
        version = await _version(event, act, role, model, attempt)
        version.faults = [] if version.is_unusable else faults_in(event.conversation, version.conversation, role, rules)
        tried.append(version)
        if version.rank == 0:
            break
    best = min(tried, key=lambda version: version.rank)
    others = [version for version in tried if version is not best]
    _record_calls(best, others, before)
    for version in others:
        if version.faults:
            record = rejected(role, version.conversation, version.faults, rules, _blamed(version, rules))
            record.calls.extend(version.places)
            best.turn.rejected.append(record)
    claim_calls(best.turn)
    if best.is_unusable or not (best.ask.calls or best.conversation.ending == Ending.ENDING_REJECTED):
        return best.outcome
    return settled(best.outcome, best.faults, recipe)


async def play_again(event: StudentRejected, *, model: Model, recipe: Recipe, reserve: Reserve = NO_RESERVE) -> Outcome:
    """Has the student write its message once more, with the same draws."""
    if recipe.student_again:
        return await play_by_rules(
            event, recipe.student_again, role="student", model=model, recipe=recipe, reserve=reserve
        )
    conversation = deepcopy(event.conversation)
    if recipe.rules is None or not conversation.turns:
        name = conversation.run.recipe
        raise Refused(f"the recipe {name!r} cannot take a message back to the student: it asks no rules of messages")
    before = conversation.turns.pop()
    started = TutorReplied if conversation.turns else ConversationStarted
    return await play_by_rules(
        started(conversation=conversation),
        recipe.student,
        role="student",
        model=model,
        recipe=recipe,
        reserve=reserve,
        before=before,
        earlier=[one for one in before.rejected if one.role == "student"],
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Attempt:
    """How a version differs from what the role gives at first."""

    purpose: tuple[object, ...] = ()
    fallback: bool = False
    sent_back: Sequence[SentBack] = ()
    standing: Sequence[Answered] = ()


@dataclass(kw_only=True)
class _Version:
    outcome: Outcome
    ask: Ask
    faults: Sequence[Broken] = ()
    # The places of its calls in the turn.
    places: Sequence[int] = field(default_factory=list)

    @property
    def conversation(self) -> Conversation:
        [message] = self.outcome
        return message.conversation

    @property
    def turn(self) -> Turn:
        return self.conversation.turns[-1]

    @property
    def language(self) -> str:
        return self.conversation.problem.language

    @property
    def is_unusable(self) -> bool:
        return self.conversation.ending == Ending.ENDING_UNPARSABLE

    @property
    def rank(self) -> float:
        return math.inf if self.is_unusable else len(self.faults)


def _attempts(
    tried: Sequence[_Version], rules: Rules, reserve: Reserve, earlier: Sequence[SentBack]
) -> Iterator[_Attempt]:
    """Yields what to try next, after a look at what was tried."""
    yield _Attempt(purpose=("again", len(earlier)) if earlier else (), sent_back=earlier)
    if not tried[0].ask.calls:
        # No model was asked, and none can do better.
        return
    for number in range(1, rules.book.mending.tries_of(tried[0].ask.role) + 1):
        if tried[-1].is_unusable:
            break
        last, blamed = tried[-1], _blamed(tried[-1], rules)
        raw = next(call.raw[-1] for call in last.ask.calls if call.prompt == blamed)
        earlier = [*earlier, SentBack(prompt=blamed, raw=raw, reason=reason_of(last.faults, rules, last.language))]
        prompts = [answered.prompt for answered in last.ask.answers]
        yield _Attempt(
            purpose=("try", number),
            sent_back=earlier,
            standing=last.ask.answers[: prompts.index(blamed)],
        )
    for number in range(1, reserve.best_of):
        yield _Attempt(purpose=("version", number))
    if reserve.fallback:
        yield _Attempt(purpose=("fallback",), fallback=True)


def _blamed(version: _Version, rules: Rules) -> str:
    """Returns the first prompt whose answer is at fault, as the rules name it; else the last one."""
    prompts = [call.prompt for call in version.ask.calls]
    states = {rules.book.rules[fault.rule].state for fault in version.faults}
    return next((prompt for prompt in prompts if prompt.partition("/")[2] in states), prompts[-1])


def _sent_back_before(turn: Turn, earlier: Sequence[RejectedTry]) -> list[SentBack]:
    """Returns answers of a turn that went back, with what they answered."""
    return [
        SentBack(prompt=one.prompt, raw=call.raw[-1], reason=one.because)
        for one in earlier
        for call in [turn.calls[place] for place in one.calls if turn.calls[place].prompt == one.prompt][-1:]
    ]


def _record_calls(best: _Version, others: Sequence[_Version], before: Turn | None = None) -> None:
    """Stores every call in the last turn, those of the version that stands at the end."""
    turn = best.turn
    if before:
        turn.calls.extend(before.calls)
        turn.rejected.extend(before.rejected)
    for version in (*others, best):
        version.places = range(len(turn.calls), len(turn.calls) + len(version.ask.calls))
        turn.calls.extend(version.ask.calls)


async def _version(event: E, act: Act[E], role: str, model: Model, attempt: _Attempt) -> _Version:
    """Runs a role on a copy of the event; each attempt but the first has seeds of its own."""
    played = deepcopy(event)
    conversation = played.conversation
    asked_before = len(conversation.turns[-1].calls) if conversation.turns else 0
    origin = (conversation.run.seed, conversation.id, len(conversation.turns), asked_before)
    ask = Ask(
        model=model,
        role=role,
        origin=(*origin, *rewinding_parts(conversation), *attempt.purpose),
        draw_key=conversation.id,
        conversation=conversation,
        fallback=attempt.fallback,
        sent_back=attempt.sent_back,
        shortened=latest_exchange,
        standing=attempt.standing,
        again=words(conversation.problem.language)["again"],
    )
    try:
        outcome = await act(played, ask)
    except Unusable as unusable:
        if role == "student" and not isinstance(event, StudentRejected):
            conversation.turns.add(number=len(conversation.turns) + 1)
        outcome = finish(conversation, Ending.ENDING_UNPARSABLE, str(unusable))
    return _Version(outcome=outcome, ask=ask)
