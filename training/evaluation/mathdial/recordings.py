"""Dialogues that were held already, by people or by whatever grew a dataset, as the tutor that is evaluated."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from soliloquy.v1.conversation_pb2 import Conversation
from training.evaluation.answers import ExpectedAnswer
from training.evaluation.mathdial.dialogues import RECIPE
from training.evaluation.mathdial.judging import JudgedDialogue, judge, messages_of


class UnsuitableDataset(Exception):
    """A dataset whose dialogues cannot be measured so; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedDialogues:
    results: Sequence[JudgedDialogue]
    # Dialogues about a problem that has no number for an answer, and dialogues in which nobody or only one speaks.
    unanswerable: int
    one_sided: int

    @property
    def digest(self) -> str:
        told = [[result.conversation.id, *messages_of(result.conversation)] for result in self.results]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def judge_recorded(conversations: Iterable[Conversation], name: str) -> RecordedDialogues:
    """Of each dialogue what came of it; raises Unsuited where none can be measured."""
    results: list[JudgedDialogue] = []
    unanswerable = one_sided = 0
    for conversation in require_recipe(conversations, name):
        wanted = ExpectedAnswer.of(conversation.problem)
        if wanted is None:
            unanswerable += 1
        elif len({speaker for speaker, _ in messages_of(conversation)}) < 2:
            one_sided += 1
        else:
            results.append(judge(conversation, wanted))
    if not results:
        raise UnsuitableDataset(
            f"{name} has no dialogue to measure: {unanswerable} are about a problem without a number for an answer, "
            f"in {one_sided} not both speak"
        )
    return RecordedDialogues(results=results, unanswerable=unanswerable, one_sided=one_sided)


def require_recipe(conversations: Iterable[Conversation], name: str) -> Iterable[Conversation]:
    """The same, unless they are another recipe's; those that were imported name none."""
    for conversation in conversations:
        if conversation.run.recipe not in ("", RECIPE):
            raise UnsuitableDataset(
                f"{name} holds conversations of the recipe {conversation.run.recipe}: name a dataset of {RECIPE}, "
                "or dialogues that were imported"
            )
        yield conversation
