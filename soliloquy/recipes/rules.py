"""Applies a recipe's rules to a finished conversation; some rules are the same for every recipe."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from soliloquy.recipes import manners
from soliloquy.recipes.agreement import AgreeingLetters, contradictions, letter_of
from soliloquy.v1.conversation_pb2 import Conversation

Rule = Callable[[Conversation], manners.Findings]
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


COMMON_NEEDS: Needs = {
    "run": _is_of_run,
    "steps": _has_steps,
    # Other people need not have followed the steps of the problem: different results prove nothing.
    "plan": lambda conversation: _is_of_run(conversation) and _has_steps(conversation),
    "evaluations": lambda conversation: any(map(letter_of, conversation.turns)),
    "programs": lambda conversation: any(turn.calculation.attempts for turn in conversation.turns),
}


def common_rules(policy: manners.Policy, agreeing: AgreeingLetters) -> dict[str, Rule]:
    return {
        "length": partial(manners.check_length, policy=policy),
        "empty": partial(manners.check_words, policy=policy),
        "speaks_for": partial(manners.check_speaker, policy=policy),
        "repeated": partial(manners.check_repetition, policy=policy),
        "contradiction": partial(contradictions, agreeing=agreeing),
    }


def inapplicable(conversation: Conversation, policy: manners.Policy, further: Needs | None = None) -> dict[str, str]:
    """Returns the rules that cannot be applied, each with what the conversation lacks."""
    known = {**COMMON_NEEDS, **(further or {})}
    has = {need: known[need](conversation) for need in {*policy["needs"].values()}}
    return {rule: need for rule, need in policy["needs"].items() if not has[need]}


def faults_of(conversation: Conversation, rules: Mapping[str, Rule], names: Iterable[str] | None = None) -> list[str]:
    """Lists what breaks the named rules, or all, in their order, with the turn and the evidence."""
    return [
        f"{name.replace('_', ' ')}: turn {turn}: {evidence}"
        for name in (rules if names is None else names)
        for turn, evidence in rules[name](conversation)
    ]
