"""Replies to recorded histories: which are asked for, what the tutor is shown, and what they are held to."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_papers.mathdial.evaluate.dialogues import next_step
from soliloquy_papers.mathdial.evaluate.figures import figures
from soliloquy_papers.mathdial.evaluate.replies import (
    ReplyResult,
    digest_of_histories,
    histories,
    reply_figures,
    reply_to_history,
)
from soliloquy_training.evaluation.cases import run_bounded
from soliloquy_training.evaluation.recipe_loop import RecipeLoop
from tests.unit.papers.mathdial.evaluate.dialogues import conversation, drawn, results, tutoring


def about(question: str, name: str) -> Conversation:
    made = conversation(
        ("tutor", "How did you do it?"),
        ("student", "I added the apples."),
        ("tutor", "Why did you add the apples?"),
        ("student", "No idea."),
        ("tutor", "   "),
    )
    made.id, made.problem.question = name, question
    return made


def test_each_message_with_a_reply_is_a_history_without_what_came_of_it() -> None:
    [history] = histories([about("How many?", "one")], "told", learned=[])
    assert history.reference == "Why did you add the apples?"
    assert [turn.tutor.text for turn in history.conversation.turns] == ["How did you do it?", ""]
    assert history.conversation.turns[-1].student.text == "I added the apples."


def test_a_fifth_of_the_dialogues_is_the_test_part_and_most_of_it_about_problems_of_the_rest() -> None:
    dialogues = [about(f"How many {place % 500}?", digest(place)) for place in range(3_000)]
    asked = histories(dialogues, "told", learned=None)
    parts = Counter(one.part for one in asked)
    assert parts.total() / len(dialogues) == pytest.approx(0.2, abs=0.03)
    assert parts["seen"] / parts.total() == pytest.approx(0.6, abs=0.1)
    test = {one.conversation.problem.question for one in asked if one.part == "unseen"}
    seen = {one.conversation.problem.question for one in asked if one.part == "seen"}
    assert not test & seen
    fewer = {one.conversation.id for one in histories(dialogues[:900], "told", learned=None)}
    assert fewer <= {one.conversation.id for one in asked}
    assert digest_of_histories(asked) == digest_of_histories(histories(dialogues, "told", learned=None))


def test_beside_what_was_learned_all_other_dialogues_are_asked_about() -> None:
    learned = [about("How many?", "one")]
    asked = histories([*learned, about("How many?", "two"), about("How far?", "three")], "told", learned=learned)
    assert [one.part for one in asked] == ["seen", "unseen"]


def test_dialogues_of_another_recipe_are_no_references() -> None:
    physics = about("How far?", "one")
    physics.run.recipe = "soliloquy"
    with pytest.raises(Failure, match="another"):
        histories([physics], "another", learned=None)


def given(of: RecipeLoop, dialogues: Sequence[Conversation]) -> list[ReplyResult]:
    asked = histories(dialogues, "told", learned=[])
    return asyncio.run(run_bounded(asked, partial(reply_to_history, loop=of), at_once=4))


def test_a_tutor_that_says_the_same_again_is_as_near_as_can_be_and_another_is_not() -> None:
    held = [one.conversation for one in results(tutoring(), drawn(8))]
    own, asking = (
        reply_figures(given(one, held), likeness=None)["unseen"] for one in (tutoring(), tutoring(next_step()))
    )
    assert own["replies"] == asking["replies"] > 8
    assert own["bleu"] > 2 * asking["bleu"]
    assert own["kf1"] > asking["kf1"] > 0
    assert own["bertscore"] is None


def test_what_was_said_is_replied_to_and_not_what_the_tutor_would_have_said() -> None:
    shown: list[str] = []

    class Noting:
        async def generate(self, request: GenerateRequest) -> Completion:
            shown.append(request.messages[-1].text)
            raise ModelRefused("no more today")

    [result] = given(tutoring(model=Noting()), [about("How many?", "one")])
    assert "How did you do it?" in shown[0]
    assert "Why did you add" not in shown[0]
    assert (result.text, result.ended) == ("", "no more today")
    made = figures([], [result], None)
    assert (made["replies"]["all"]["unanswered"], made["measures"]["reply_bleu"]) == (1, 0.0)
    assert made["replies"]["seen"]["bleu"] is None


def same(texts: Sequence[str], references: Sequence[str]) -> list[float]:
    """Stands for an encoder: texts are alike or not."""
    return [100.0 * (text == reference) for text, reference in zip(texts, references, strict=True)]


def test_an_encoder_scores_replies_beside_their_references_and_their_problem() -> None:
    found = given(
        tutoring(next_step()), [about("How many?", "one"), about("And what would you do as the next step?", "two")]
    )
    made = reply_figures(found, same)["all"]
    assert (made["bertscore"], made["bertscore_problem"]) == (0.0, 50.0)
