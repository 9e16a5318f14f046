"""What an episode is worth: named components, each with its evidence, by weights that are data.

Everything is read from the ledger, the rules, the programs that ran and the student's own records: nothing that the
policy says about itself earns anything.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soliloquy.recipes.calls import USABLE, calls_of_turns, turns_of
from soliloquy.recipes.check_report import CheckedConversation, CheckedTurn, located_faults
from soliloquy.recipes.learner.learned import Learned
from soliloquy.recipes.recipe import Recipe, find
from soliloquy.runtime.failure import Failure, did_you_mean
from soliloquy.runtime.files import read_regular_text, table_beside
from soliloquy.texts.utterances import words
from soliloquy.v1.conversation_pb2 import INTENT_OPENING, VERIFICATION_PROGRAM, Conversation

_TABLE: Mapping[str, Any] = table_beside(__file__, "rewards.toml")
WEIGHTS: Mapping[str, float] = _TABLE["weights"]
_RULES: Mapping[str, Sequence[str]] = _TABLE["rules"]
_LENGTH: Mapping[str, int] = _TABLE["length"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Component:
    """A part of a reward, from -1 to 1."""

    value: float
    weight: float
    # What speaks against a higher value, each with its turn.
    evidence: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reward:
    components: Mapping[str, Component] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(component.value * component.weight for component in self.components.values())


def weights_of(source: Mapping[str, float] | Path | None) -> Mapping[str, float]:
    """Returns weights with those of a table or a file in their place; raises Failure."""
    try:
        own = tomllib.loads(read_regular_text(source))["weights"] if isinstance(source, Path) else source or {}
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"{source}: {error}: a file of weights has a table [weights]") from error
    if unknown := next((name for name in own if name not in WEIGHTS), None):
        raise Failure(f"weights: there is no component {unknown!r}{did_you_mean(unknown, WEIGHTS)}")
    return {**WEIGHTS, **own}


def reward_of(
    conversation: Conversation, roles: Collection[str], weights: Mapping[str, float], opinion: float | None = None
) -> Reward:
    """Judges a finished conversation, whose verdicts it marks with what they rest on."""
    recipe = find(conversation.run.recipe)
    told = _Told(conversation, recipe, roles)
    found = {
        "verdict": told.verdict(),
        "learner": told.learner(),
        "solves_after": told.solves_after(),
        "finished": told.finished(),
        "form": told.form(),
        "program": told.program(),
        "given_away": told.given_away(),
        "length": told.length(),
        **({"judge": (opinion, ())} if opinion is not None else {}),
    }
    components = {
        name: Component(value=value, weight=weights[name], evidence=tuple(evidence))
        for name, (value, evidence) in found.items()
    }
    return Reward(components=components)


_Value = tuple[float, Sequence[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _SentBack:
    """An answer of the policy that broke a rule: it went back, took turns back, or stands."""

    rule: str
    evidence: str


class _Told:
    """Reads a conversation once for all components."""

    def __init__(self, conversation: Conversation, recipe: Recipe, roles: Collection[str]) -> None:
        self._conversation = conversation
        self._recipe = recipe
        self._roles = roles
        self._judged: CheckedConversation = recipe.judge(conversation)
        # A conversation that broke off has turns to judge as well.
        checked = self._judged if self._judged.turns else recipe.check(conversation)
        self._turns: Sequence[CheckedTurn] = checked.turns
        self._faults = list(self._found(checked.faults))
        self._learned: Sequence[Learned] = recipe.learned(conversation)

    def verdict(self) -> _Value:
        openings = {turn.number for turn in self._conversation.turns if turn.student.intent == INTENT_OPENING}
        settled = [(number, turn) for number, turn in enumerate(self._turns, 1) if turn.right is not None]
        answers = [(number, turn) for number, turn in settled if number not in openings]
        false = self._against("verdict")
        known = {number for number, rule, _ in located_faults(self._judged.faults) if _key(rule) in _RULES["verdict"]}
        stand = [number for number, turn in answers if turn.verdict_true is False and number not in known]
        false += [f"turn {number}: a wrong verdict stands" for number in stand]
        none = [f"turn {number}: the answer is not judged" for number, turn in answers if turn.verdict_true is None]
        true = sum(turn.verdict_true is True for _, turn in answers)
        # An answer whose verdict went back several times counts as often.
        asked = max(1, true + len(none) + len(false))
        return (true - len(false)) / asked, false + none

    def learner(self) -> _Value:
        found = sum(one.answered and not one.told for one in self._learned)
        why = [f"{one.name}: {self._why(one)}" for one in self._learned if one.told or not one.answered]
        return found / max(1, len(self._learned)), why

    def solves_after(self) -> _Value:
        lacking = [f"{one.name}: not known at the end" for one in self._learned if not one.knows]
        return (len(self._learned) - len(lacking)) / max(1, len(self._learned)), lacking

    def finished(self) -> _Value:
        return float(not self._judged.faults), self._judged.faults

    def form(self) -> _Value:
        calls = [call for call in calls_of_turns(self._conversation) if call.role in self._roles]
        asked = sum(len(call.raw) for call in calls)
        unread = [
            f"{call.prompt}: {len(call.raw) - (call.outcome in USABLE)} unusable answers"
            for call in calls
            if len(call.raw) > (call.outcome in USABLE)
        ]
        lost = sum(len(call.raw) - (call.outcome in USABLE) for call in calls)
        back = self._against(None)
        return max(0.0, 1 - (lost + len(back)) / asked) if asked else 0.0, unread + back

    def program(self) -> _Value:
        """Counts 0 where nothing wants a calculation."""
        turns = [turn for turn in self._conversation.turns if turn.HasField("calculation")]
        numbered = zip(self._conversation.turns, self._turns, strict=False)
        good = {turn.number for turn, checked in numbered if checked.verification == VERIFICATION_PROGRAM}
        bad = [
            f"turn {turn.number}: the program decides nothing"
            for turn in turns
            if turn.number not in good and turn.calculation.attempts and turn.calculation.overruled
        ]
        failed = [
            f"turn {turn.number}: {attempt.execution.error or 'the program failed'}"
            for turn in turns
            for attempt in turn.calculation.attempts
            if attempt.execution.error
        ]
        wrong = bad + failed + self._against("program") + self._against("uncalculated")
        return len(good) / max(1, len(good) + len(wrong)), wrong

    def given_away(self) -> _Value:
        told = [f"{one.name}: told before the student had found it" for one in self._learned if one.told]
        tries = self._against("given_away")
        return -min(1.0, (len(told) + len(tries)) / max(1, len(self._learned))), told + tries

    def length(self) -> _Value:
        enough, long = _LENGTH["enough_words"], _LENGTH["long_words"]
        counts = [(turn.number, len(words(turn.tutor.text))) for turn in self._conversation.turns if turn.tutor.text]
        over = [(number, count) for number, count in counts if count > enough]
        beyond = sum(min(1.0, (count - enough) / long) for _, count in over)
        return -beyond / max(1, len(counts)), [f"turn {number}: {count} words" for number, count in over]

    @staticmethod
    def _why(one: Learned) -> str:
        return "told before the student had found it" if one.told else "not found by the student"

    def _against(self, component: str | None) -> list[str]:
        """Returns what broke the rules of a component, or those of none."""
        of_any = {rule for rules in _RULES.values() for rule in rules}
        of_own = _RULES[component] if component else ()
        return [one.evidence for one in self._faults if (one.rule in of_own if component else one.rule not in of_any)]

    def _found(self, faults: Sequence[str]) -> Iterator[_SentBack]:
        for turn in turns_of(self._conversation):
            for one in turn.rejected:
                if one.role in self._roles:
                    yield _SentBack(rule=one.rule, evidence=f"turn {turn.number}: {one.because}")
        for rewind in self._conversation.rewinds:
            yield _SentBack(
                rule=rewind.rule, evidence=f"turn {rewind.turns[0].number} was taken back: {rewind.because}"
            )
        for number, rule, evidence in located_faults(faults):
            yield _SentBack(rule=_key(rule), evidence=f"turn {number}: {evidence}")


def _key(rule: str) -> str:
    """Returns a rule's name in the table, as a fault says it in words."""
    return rule.replace(" ", "_")
