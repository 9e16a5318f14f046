"""Reads a conversation for the components of a reward."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from soliloquy.recipes.calls import USABLE, calls_of_turns, turns_of
from soliloquy.recipes.check_report import CheckedConversation, CheckedTurn, located_faults
from soliloquy.recipes.learner.goals import LearningGoal
from soliloquy.recipes.reached_values import computed_values
from soliloquy.recipes.recipe import find
from soliloquy.recipes.settled import is_among
from soliloquy.runtime.files import table_beside
from soliloquy.texts.utterances import words
from soliloquy.truth.ledger import ledger_of
from soliloquy.v1.conversation_pb2 import (
    ENDING_REJECTED,
    INTENT_OPENING,
    INTENT_WRONG,
    VERIFICATION_PROGRAM,
    Conversation,
    Rewind,
    Turn,
)
from soliloquy.v1.sandbox_pb2 import STATUS_OK

TABLE = table_beside(__file__, "rewards.toml")
_RULES: Mapping[str, Sequence[str]] = TABLE["rules"]
_LENGTH: Mapping[str, int] = TABLE["length"]
# Counts among the rules.
_TAKEN_BACK = "taken_back"

# A value from -1 to 1, and the evidence against a higher one.
Value = tuple[float, Sequence[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _RejectedAnswer:
    """An answer of the policy that broke a rule: it went back, took turns back, or stands."""

    rule: str
    evidence: str
    # Whether the student was to be right in that turn.
    to_right: bool


class Assessment:
    """Reads a conversation once for all components."""

    def __init__(self, conversation: Conversation, roles: Collection[str]) -> None:
        recipe = find(conversation.run.recipe)
        self._taken_back = _first_taken_back(conversation)
        self._conversation = _until(conversation, self._taken_back)
        self._roles = roles
        self._judged: CheckedConversation = recipe.judge(self._conversation)
        if self._taken_back is not None:
            # Marks the verdicts of the whole conversation, as whoever collects it does.
            recipe.judge(conversation)
        # A conversation that broke off has turns to judge as well.
        checked = self._judged if self._judged.turns else recipe.check(self._conversation)
        self._turns: Sequence[CheckedTurn] = checked.turns
        self._faults = list(self._found(checked.faults))
        self._goals: Sequence[LearningGoal] = recipe.goals(self._conversation)
        self._hollow = list(self._hollow_turns())

    def verdict(self) -> Value:
        """Takes the worse of the values for right and for wrong answers: no constant verdict pays."""
        passed = {turn.number for turn in self._conversation.turns if turn.student.intent == INTENT_OPENING}
        if self._taken_back is not None:
            passed.add(self._taken_back.turns[-1].number)
        settled = [(number, turn) for number, turn in enumerate(self._turns, 1) if turn.right is not None]
        answers = [(number, turn) for number, turn in settled if number not in passed]
        values, evidence = [], list[str]()
        for is_right in (True, False):
            of_kind = [(number, turn) for number, turn in answers if turn.right is is_right]
            value, against = self._verdicts(of_kind, self._against("verdict", is_right))
            values += [value] if of_kind or against else []
            evidence += against
        return min(values, default=0.0), evidence

    def _verdicts(self, answers: Sequence[tuple[int, CheckedTurn]], false: list[str]) -> tuple[float, list[str]]:
        """Returns the share of true verdicts, less that of false ones; one that went back several times counts so."""
        known = {number for number, rule, _ in located_faults(self._judged.faults) if _key(rule) in _RULES["verdict"]}
        stand = [number for number, turn in answers if turn.verdict_true is False and number not in known]
        false = [*false, *(f"turn {number}: a wrong verdict stands" for number in stand)]
        none = [f"turn {number}: the answer is not judged" for number, turn in answers if turn.verdict_true is None]
        # With a hollow program, or one that was overruled, the verdict comes from elsewhere.
        true = [number for number, turn in answers if turn.verdict_true is True]
        hollow = [number for number in true if number in self._hollow]
        none += [f"turn {number}: the verdict rests on a program that decides nothing" for number in hollow]
        good = len(true) - len(hollow)
        return (good - len(false)) / max(1, good + len(none) + len(false)), false + none

    def learner(self) -> Value:
        found = sum(one.answered and not one.told for one in self._goals)
        why = [f"{one.name}: {self._why(one)}" for one in self._goals if one.told or not one.answered]
        return found / max(1, len(self._goals)), why

    def solves_after(self) -> Value:
        lacking = [f"{one.name}: not known at the end" for one in self._goals if not one.knows]
        return (len(self._goals) - len(lacking)) / max(1, len(self._goals)), lacking

    def finished(self) -> Value:
        return float(not self._judged.faults), self._judged.faults

    def form(self) -> Value:
        calls = [call for call in calls_of_turns(self._conversation) if call.role in self._roles]
        asked = sum(len(call.raw) for call in calls)
        # One answer of each call was used, if any could be.
        unread = [f"{call.prompt}: an unusable answer" for call in calls for _ in call.raw[call.outcome in USABLE :]]
        bad = unread + self._against(None)
        return max(0.0, 1 - len(bad) / asked) if asked else 0.0, bad

    def program(self) -> Value:
        """Counts 0 where nothing wants a calculation."""
        turns = [turn for turn in self._conversation.turns if turn.calculation.attempts]
        failed = [
            f"turn {turn.number}: {attempt.execution.error or 'the program failed'}"
            for turn in turns
            for attempt in turn.calculation.attempts
            if attempt.execution.status != STATUS_OK
        ]
        hollow = [f"turn {number}: the program comes to no result of the problem" for number in self._hollow]
        bad = failed + hollow + self._against("program") + self._against("uncalculated")
        good = len(turns) - len(hollow)
        return good / max(1, good + len(bad)), bad

    def given_away(self) -> Value:
        told = [f"{one.name}: told before the student had found it" for one in self._goals if one.told]
        tries = self._against("given_away")
        return -min(1.0, (len(told) + len(tries)) / max(1, len(self._goals))), told + tries

    def length(self) -> Value:
        enough, long = _LENGTH["enough_words"], _LENGTH["long_words"]
        counts = [(turn.number, len(words(turn.tutor.text))) for turn in self._conversation.turns if turn.tutor.text]
        over = [(number, count) for number, count in counts if count > enough]
        beyond = sum(min(1.0, (count - enough) / long) for _, count in over)
        return -beyond / max(1, len(counts)), [f"turn {number}: {count} words" for number, count in over]

    @staticmethod
    def _why(one: LearningGoal) -> str:
        return "told before the student had found it" if one.told else "not found by the student"

    def _hollow_turns(self) -> Iterator[int]:
        """Yields the turns whose program was overruled or came to no result: a mere True checks nothing."""
        results = ledger_of(self._conversation.problem).results
        for turn, checked in zip(self._conversation.turns, self._turns, strict=False):
            if turn.calculation.attempts:
                counts = checked.verification == VERIFICATION_PROGRAM and not turn.calculation.overruled
                if not (counts and any(is_among(value, results) for value in computed_values(turn))):
                    yield turn.number

    def _against(self, component: str | None, to_right: bool | None = None) -> list[str]:
        """Returns what broke the rules of a component, or those of none."""
        of_any = {rule for rules in _RULES.values() for rule in rules}
        of_own = _RULES[component] if component else ()
        found = [one for one in self._faults if (one.rule in of_own if component else one.rule not in of_any)]
        return [one.evidence for one in found if to_right is None or one.to_right is to_right]

    def _found(self, faults: Sequence[str]) -> Iterator[_RejectedAnswer]:
        turns = self._conversation.turns
        for turn in turns_of(self._conversation):
            for one in (one for one in turn.rejected if one.role in self._roles):
                yield _rejected(one.rule, turn, f"turn {turn.number}: {one.because}")
        if self._taken_back is not None:
            last = self._taken_back.turns[-1]
            yield _rejected(_TAKEN_BACK, last, f"turn {last.number} was taken back: {self._taken_back.because}")
        for number, rule, evidence in located_faults(faults):
            yield _rejected(_key(rule), turns[number - 1], f"turn {number}: {evidence}")


def _first_taken_back(conversation: Conversation) -> Rewind | None:
    """Returns the first turns that were taken back for a reply; those without one failed by the student."""
    return next((one for one in conversation.rewinds if one.turns[-1].HasField("tutor")), None)


def _until(conversation: Conversation, taken_back: Rewind | None) -> Conversation:
    """Returns the conversation as it was before its first turns were taken back, as if it had ended there.

    Turns that are taken back are drawn anew: nobody is to gain by failing where the student is difficult.
    """
    if taken_back is None:
        return conversation
    was = Conversation()
    was.CopyFrom(conversation)
    while True:
        rewind = was.rewinds.pop()
        del was.turns[rewind.turns[0].number - 1 :]
        was.turns.extend(rewind.turns)
        if rewind == taken_back and _first_taken_back(was) is None:
            was.ending, was.ending_reason = ENDING_REJECTED, rewind.because
            return was


def _rejected(rule: str, turn: Turn, evidence: str) -> _RejectedAnswer:
    return _RejectedAnswer(rule=rule, evidence=evidence, to_right=turn.student.intent != INTENT_WRONG)


def _key(rule: str) -> str:
    """Returns a rule's name in the table, as a fault says it in words."""
    return rule.replace(" ", "_")
