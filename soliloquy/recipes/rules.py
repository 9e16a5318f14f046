"""Applies a recipe's rules to turns of a conversation; some rules are the same for every recipe."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from soliloquy.recipes import manners
from soliloquy.recipes.agreement import AgreeingLetters, contradictions, letter_of
from soliloquy.recipes.check_report import CheckedConversation
from soliloquy.recipes.given_values import HandedIn, check_given_values, check_unfounded
from soliloquy.recipes.rulebook import Rulebook
from soliloquy.recipes.seat import is_taught
from soliloquy.recipes.settled import StudentAnswer, program_fault, reply_fault
from soliloquy.recipes.uncalculated import check_uncalculated
from soliloquy.truth.judge import judge
from soliloquy.truth.ledger import ledger_of
from soliloquy.v1.conversation_pb2 import Conversation, Turn

# Finds what breaks the rule in some turns of a conversation, usually all of it or its last one.
Rule = Callable[[Conversation, Sequence[Turn]], manners.Findings]
# Tells whether a conversation has what a rule reads besides the messages, by its name in `[needs]` of a recipe's
# rules.toml. Conversations that others recorded may lack it; the rule is not applied to them.
Needs = Mapping[str, Callable[[Conversation], bool]]


def _has_steps(conversation: Conversation) -> bool:
    """Whether the problem has steps, and none of a number beyond their count."""
    steps = conversation.problem.steps
    return bool(steps) and all(0 <= step.number <= len(steps) for step in steps)


def _is_of_run(conversation: Conversation) -> bool:
    """Whether a run recorded the conversation: its limits bind nobody else."""
    return conversation.run.max_turns > 0


def _nothing_settled(conversation: Conversation) -> StudentAnswer | None:
    return None


class Broken(NamedTuple):
    rule: str
    turn: int
    evidence: str

    def __str__(self) -> str:
        return f"{self.rule.replace('_', ' ')}: turn {self.turn}: {self.evidence}"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of a recipe: what its rules.toml says of them, and what finds that they are broken."""

    book: Rulebook
    # Asks the named rules of the last turns of a conversation, as many as are given.
    broken: Callable[[Conversation, Collection[str], int], Iterable[Broken]]
    # Checks a conversation by other rules than the recipe's.
    check_by: Callable[[Conversation, Rulebook], CheckedConversation]
    # Returns what a settled value says of the student's last answer; None if nothing decides it.
    settled: Callable[[Conversation], StudentAnswer | None] = _nothing_settled
    # The rules in words of other languages than English, by language.
    said: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def says(self, rule: str, language: str) -> str:
        return self.said[language][rule] if language in self.said else self.book.rules[rule].says


COMMON_NEEDS: Needs = {
    "run": _is_of_run,
    "steps": _has_steps,
    # Other people need not have followed the steps of the problem: different results prove nothing.
    "plan": lambda conversation: _is_of_run(conversation) and _has_steps(conversation),
    "evaluations": lambda conversation: any(map(letter_of, conversation.turns)),
    "programs": lambda conversation: any(turn.calculation.attempts for turn in conversation.turns),
}


def settled_rules(settled: Callable[[Conversation, Turn], StudentAnswer | None]) -> dict[str, Rule]:
    """Returns the rules that hold programs and replies against settled values."""

    def wrong_program(conversation: Conversation, turns: Sequence[Turn]) -> manners.Findings:
        for turn in turns:
            if why := program_fault(turn, settled(conversation, turn), conversation.problem):
                yield turn.number, why

    def verdict(conversation: Conversation, turns: Sequence[Turn]) -> manners.Findings:
        for turn in turns:
            if why := reply_fault(turn, settled(conversation, turn), conversation):
                yield turn.number, why

    return {"wrong_program": wrong_program, "verdict": verdict}


# The common rules that compare words, whatever the language.
MANNERS = ("length", "empty", "speaks_for", "repeated", "loop")


def common_rules(
    policy: manners.Policy, agreeing: AgreeingLetters, handed_in: HandedIn = lambda _: ""
) -> dict[str, Rule]:
    return {
        "length": partial(manners.check_length, policy=policy),
        "empty": manners.check_words,
        "speaks_for": manners.check_speaker,
        "repeated": partial(manners.check_repetition, policy=policy),
        "loop": partial(manners.check_loop, policy=policy),
        "contradiction": partial(contradictions, agreeing=agreeing),
        "given_values": check_given_values,
        "unfounded": partial(check_unfounded, handed_in=handed_in),
        "uncalculated": check_uncalculated,
    }


def inapplicable(conversation: Conversation, book: Rulebook, further: Needs | None = None) -> dict[str, str]:
    """Returns the rules that cannot be applied, each with what the conversation lacks."""
    known = {**COMMON_NEEDS, **(further or {})}
    has = {need: known[need](conversation) for need in {*book.needs.values()}}
    english = [name for name, rule in book.rules.items() if rule.english] if conversation.run.language else []
    of_models = [name for name, rule in book.rules.items() if rule.models] if is_taught(conversation) else []
    return (
        {rule: need for rule, need in book.needs.items() if not has[need]}
        | dict.fromkeys(english, "English")
        | dict.fromkeys(of_models, "tutoring model")
    )


def settled_contradictions(conversation: Conversation, rules: Rules) -> list[str]:
    """Tells how the latest reply contradicts what is settled; a claim that is open contradicts nothing."""
    judged, ledger = deepcopy(conversation), ledger_of(conversation.problem)
    reply = judged.turns[-1].tutor
    decided = [claim for claim in reply.claims if judge([claim], ledger, 0).right is not None]
    del reply.claims[:]
    reply.claims.extend(decided)
    names = ["verdict"] if "verdict" in rules.book.rules else []
    return [f"{found.evidence[:1].upper()}{found.evidence[1:]}." for found in rules.broken(judged, names, 1)]


def faults_of(conversation: Conversation, rules: Mapping[str, Rule]) -> list[str]:
    """Lists what breaks the rules, in their order, with the turn and the evidence."""
    return list(map(str, broken(conversation, rules, rules, conversation.turns)))


def broken(
    conversation: Conversation, rules: Mapping[str, Rule], names: Iterable[str], turns: Sequence[Turn]
) -> Iterator[Broken]:
    for name in names:
        for turn, evidence in rules[name](conversation, turns):
            yield Broken(name, turn, evidence)


def parted(
    broken: Callable[[Collection[str]], Iterable[Broken]], book: Rulebook
) -> tuple[list[str], Callable[[], list[str]]]:
    """Returns the faults that condemn a conversation, and what finds the others."""
    condemning, others = ([name for name in book.rules if book.condemns(name) is does] for does in (True, False))
    return list(map(str, broken(condemning))), lambda: list(map(str, broken(others)))
