"""Dialogues that were held already, by people or by whatever grew a dataset, as the tutor that is evaluated."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from soliloquy.v1.conversation_pb2 import Conversation
from training.evaluation.answers import Wanted
from training.evaluation.mathdial.dialogues import RECIPE
from training.evaluation.mathdial.judging import Judged, judged, said


class Unsuited(Exception):
    """A dataset whose dialogues cannot be measured so; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    results: Sequence[Judged]
    # Dialogues about a problem that has no number for an answer, and dialogues in which nobody or only one speaks.
    unanswerable: int
    one_sided: int

    @property
    def digest(self) -> str:
        told = [[result.conversation.id, *said(result.conversation)] for result in self.results]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def recorded(conversations: Iterable[Conversation], name: str) -> Recorded:
    """Of each dialogue what came of it; raises Unsuited where none can be measured."""
    results: list[Judged] = []
    unanswerable = one_sided = 0
    for conversation in suited(conversations, name):
        wanted = Wanted.of(conversation.problem)
        if wanted is None:
            unanswerable += 1
        elif len({speaker for speaker, _ in said(conversation)}) < 2:
            one_sided += 1
        else:
            results.append(judged(conversation, wanted))
    if not results:
        raise Unsuited(
            f"{name} has no dialogue to measure: {unanswerable} are about a problem without a number for an answer, "
            f"in {one_sided} not both speak"
        )
    return Recorded(results=results, unanswerable=unanswerable, one_sided=one_sided)


def suited(conversations: Iterable[Conversation], name: str) -> Iterable[Conversation]:
    """The same, unless they are another recipe's; those that were imported name none."""
    for conversation in conversations:
        if conversation.run.recipe not in ("", RECIPE):
            raise Unsuited(
                f"{name} holds conversations of the recipe {conversation.run.recipe}: name a dataset of {RECIPE}, "
                "or dialogues that were imported"
            )
        yield conversation
