"""Checks which moves are accepted, and which are asked for again."""

import json

import pytest

from soliloquy.recipes.answers import TutorMessage
from soliloquy.recipes.mathdial.answers import ConfusionDescription, MoveChoice
from soliloquy.recipes.mathdial.moves import INTENTS
from soliloquy.runtime.answers import Unreadable
from soliloquy_papers.mathwell.answers import WrittenProblem
from tests.cases import each_case


def choice(**fields: str) -> str:
    usual = {"Thoughts": "Hm.", "Evaluation": "incorrect", "Move": "focus", "Intent": "guide_focus", "Solved": "n"}
    return json.dumps(usual | fields)


def test_there_are_four_moves_with_eleven_intents() -> None:
    assert {move: len(intents) for move, intents in INTENTS.items()} == {
        "focus": 3,
        "probing": 4,
        "telling": 2,
        "generic": 2,
    }


def test_a_move_is_read_however_it_is_spelled() -> None:
    read, strict = MoveChoice.read(choice(Move="Probing", Intent="Seek self-correction", Solved="No"))
    assert (read.move, read.intent, read.solved, strict) == ("probing", "seek_self_correction", "n", False)


@each_case
def test_a_move_that_is_none_is_asked_for_again_with_the_reason(fields: dict[str, str], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        MoveChoice.read(choice(**fields))


def test_a_tutor_never_speaks_for_the_student() -> None:
    assert TutorMessage.read("Teacher: Why?")[0].text == "Why?"
    with pytest.raises(Unreadable, match="speaks for another"):
        TutorMessage.read("Why did you add?\nStudent: Because.")


def test_renamed_answers_keep_the_titles_of_their_schemas() -> None:
    """The schema is part of what a model is asked."""
    titles = [
        json.loads(answer.json_schema())["title"] for answer in (MoveChoice, ConfusionDescription, WrittenProblem)
    ]
    assert titles == ["Choice", "Described", "Written"]
