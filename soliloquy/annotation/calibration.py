"""Compares what the rules of a recipe say of conversations and turns with what people say of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from soliloquy.annotation.measured import Measured
from soliloquy.recipes.check_report import located_faults
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation, HumanLabel

ANY = "any rule"


def calibrate(conversations: Iterable[Conversation], scheme: str, question: str, value: str) -> list[Measured]:
    """Measures each rule that says something of a labelled item, and all together, against one value of people.

    Raises Failure if nothing is labelled.
    """
    met, said, known = list[bool](), list[set[str]](), defaultdict[str, set[str]](set)
    for conversation in conversations:
        found: Sequence[str] | None = None
        for number, label in _labels(conversation):
            known[label.scheme].add(label.question)
            if (label.scheme, label.question) != (scheme, question):
                continue
            if found is None:
                checked = find(conversation.run.recipe).check(conversation)
                found = [*checked.faults, *checked.marks]
            met.append(label.value == value)
            said.append({rule for at, rule in _located(found) if number in (0, at)})
    if not met:
        names = ", ".join(sorted(f"{of} of {name}" for name, questions in known.items() for of in questions))
        raise Failure(f"nobody answered {question} of {scheme}: there are {names or 'no labels of people'}")
    rules = sorted(set().union(*said))
    flags = {ANY: [bool(one) for one in said], **{rule: [rule in one for one in said] for rule in rules}}
    return [
        Measured(subject=f"{question}: {value}", judge=judge, met=np.array(met), said=np.array(of))
        for judge, of in flags.items()
    ]


def _labels(conversation: Conversation) -> Iterator[tuple[int, HumanLabel]]:
    """Yields each label with its turn; 0 for one of the whole conversation."""
    yield from ((0, label) for label in conversation.human_labels)
    yield from ((turn.number, label) for turn in conversation.turns for label in turn.human_labels)


def _located(faults: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yields the rule of each fault with its turn; 0 for a fault with no turn."""
    for fault in faults:
        located = [(turn, rule) for turn, rule, _ in located_faults([fault])]
        yield from located or [(0, fault.partition(":")[0])]
