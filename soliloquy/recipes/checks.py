"""Consults the checks of conversations that other packages add to the rules of every recipe."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache

from soliloquy.recipes.check_report import CheckedConversation
from soliloquy.runtime.extensions import BadPackage, Extensions
from soliloquy.v1.conversation_pb2 import Conversation

# Yields the turn and the evidence of each fault of a finished conversation, for the rule of the entry's name.
Check = Callable[[Conversation], Iterable[tuple[int, str]]]
CHECKS = Extensions("check", "soliloquy.truth")


@cache
def further_checks() -> Mapping[str, Check]:
    """Returns the checks of all packages by their rules; raises BadPackage if one does not load."""
    return {name: CHECKS.load(name, Callable) for name in CHECKS.claims}


def also_checked(check: Callable[[Conversation], CheckedConversation]) -> Callable[[Conversation], CheckedConversation]:
    """Returns a recipe's check followed by those of other packages."""

    def checked(conversation: Conversation) -> CheckedConversation:
        found = check(conversation)
        # A conversation that the recipe rejects without a look at its turns, such as one that broke off.
        if found.faults and not found.turns:
            return found
        further = [fault for name, each in further_checks().items() for fault in _faults(name, each, conversation)]
        return replace(found, faults=[*found.faults, *further])

    return checked


def _faults(name: str, check: Check, conversation: Conversation) -> list[str]:
    try:
        return [f"{name}: turn {turn}: {evidence}" for turn, evidence in check(conversation)]
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        where = f"{CHECKS.value(name)} fails on conversation {conversation.id}"
        raise BadPackage(f"check {name}: {where} ({why}): correct or uninstall it") from error
