"""Applies a recipe's rules to a finished conversation; some rules are the same for every recipe."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from soliloquy.recipes import manners
from soliloquy.recipes.agreement import AgreeingLetters, contradictions
from soliloquy.v1.conversation_pb2 import Conversation

Rule = Callable[[Conversation], manners.Findings]


def common_rules(policy: manners.Policy, agreeing: AgreeingLetters) -> dict[str, Rule]:
    return {
        "length": partial(manners.check_length, policy=policy),
        "empty": partial(manners.check_words, policy=policy),
        "speaks_for": partial(manners.check_speaker, policy=policy),
        "repeated": partial(manners.check_repetition, policy=policy),
        "contradiction": partial(contradictions, agreeing=agreeing),
    }


def faults_of(conversation: Conversation, rules: Mapping[str, Rule], names: Iterable[str] | None = None) -> list[str]:
    """Lists what breaks the named rules, or all, in their order, with the turn and the evidence."""
    return [
        f"{name.replace('_', ' ')}: turn {turn}: {evidence}"
        for name in (rules if names is None else names)
        for turn, evidence in rules[name](conversation)
    ]
