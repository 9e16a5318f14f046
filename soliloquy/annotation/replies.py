"""Finds the replies that a dataset, or the tree of a fork, has to the same state of a conversation."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from soliloquy.annotation.tasks import messages_of
from soliloquy.dataset.exports.formats.preferences import Answer, tutor_answers
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    item: str
    text: str
    # The answers of the model that it came of.
    answers: Callable[[], Iterable[Answer]] = tuple


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    # The conversation before the reply, as annotators see it.
    shown: Mapping[str, Any]
    replies: list[Reply] = field(default_factory=list)


# By all that was said before.
States = Mapping[str, State]


def states_of(conversations: Iterable[Conversation]) -> States:
    """Returns each state that a tutor replied to."""
    found: dict[str, State] = {}
    for conversation in conversations:
        for place, turn in enumerate(conversation.turns):
            before = messages_of(conversation.turns[: place + 1])
            if turn.tutor.text:
                before.pop()
            _add(
                found,
                {"question": conversation.problem.question, "messages": before},
                Reply(
                    item=f"{conversation.id}#{turn.number}",
                    text=turn.tutor.text,
                    answers=partial(tutor_answers, conversation, turn.number),
                ),
            )
    return found


def states_of_tree(tree: Path) -> States:
    """Returns the states of a fork with their continuations."""
    found: dict[str, State] = {}
    for node in map(json.loads, tree.read_text("utf-8").splitlines()):
        prompts = [
            Prompt(name=one["name"], said=[(said["role"], said["content"]) for said in one["messages"]])
            for one in node["prompts"]
        ]
        for sample in node["samples"]:
            answers = [
                Answer(node["turn"], one["state"], prompts[one["prompt"]], one["text"]) for one in sample["answers"]
            ]
            _add(
                found,
                {"question": node["question"], "messages": node["messages"]},
                Reply(
                    item=f"{node['conversation']}#{node['turn']}/{node['state']}/{sample['sample']}",
                    text=sample["reply"],
                    answers=partial(_same, answers),
                ),
            )
    return found


def _same(answers: Sequence[Answer]) -> Sequence[Answer]:
    return answers


def _add(states: dict[str, State], shown: Mapping[str, Any], reply: Reply) -> None:
    states.setdefault(digest(json.dumps(shown)), State(shown=shown)).replies.append(reply)
