"""Evaluates existing dialogues, by people or of a generated dataset."""

from collections.abc import Iterable
from typing import Any

from soliloquy.recipes.mathdial.evaluate.answers import ExpectedAnswer
from soliloquy.recipes.mathdial.evaluate.dialogues import RECIPE
from soliloquy.recipes.mathdial.evaluate.judging import JudgedDialogue, judge, messages_of
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from training.evaluation.cases import digest_of


def judge_recorded(conversations: Iterable[Conversation], name: str) -> tuple[list[JudgedDialogue], dict[str, Any]]:
    """Judges each dialogue and describes the cases for the report; raises Failure if none can be measured."""
    results: list[JudgedDialogue] = []
    unanswerable = one_sided = 0
    for conversation in require_recipe(conversations, name):
        wanted = ExpectedAnswer.from_problem(conversation.problem)
        if wanted is None:
            unanswerable += 1
        elif len({speaker for speaker, _ in messages_of(conversation)}) < 2:
            one_sided += 1
        else:
            results.append(judge(conversation, wanted))
    if not results:
        raise Failure(
            f"{name} has no dialogue to measure: {unanswerable} are about a problem without a numeric answer, "
            f"in {one_sided} only one side speaks"
        )
    return results, {
        "put": f"The {len(results)} dialogues of `{name}` as they are",
        "dialogues": len(results),
        "references": None,
        # Dialogues about problems without a numeric answer, and dialogues in which fewer than two speak.
        "unanswerable": unanswerable,
        "one_sided": one_sided,
        "sha256": digest_of([[result.conversation.id, *messages_of(result.conversation)] for result in results]),
        "problem_ids": sorted({result.conversation.problem.id for result in results}),
    }


def require_recipe(conversations: Iterable[Conversation], name: str) -> Iterable[Conversation]:
    """Passes conversations of this recipe and imported ones on; raises Failure for any other."""
    for conversation in conversations:
        if conversation.run.recipe not in ("", RECIPE):
            raise Failure(
                f"{name} holds conversations of the recipe {conversation.run.recipe}: use a dataset of {RECIPE}, "
                "or imported dialogues"
            )
        yield conversation
