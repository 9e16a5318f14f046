"""A conversation as the viewer draws it."""

import pytest

from soliloquy.dataset.view import conversation_view, turn_view
from soliloquy.v1.conversation_pb2 import Conversation, ParseOutcome, Turn
from soliloquy.v1.gateway_pb2 import Flag
from tests.cases import each_case
from tests.unit.dataset.labelled import labelled
from tests.unit.dataset.test_statistics import conversation


def test_a_conversation_has_its_turns_attempts_and_values() -> None:
    made = conversation()
    view = conversation_view(made)
    assert (view["id"], view["reasons"], view["question"]) == (made.id, None, made.problem.question)
    assert [turn["tutor"] for turn in view["turns"]] == ["Try it, try it, try it!", "Not quite.", None]
    for shown, turn in zip(view["turns"], made.turns, strict=True):
        assert [attempt["code"] for attempt in shown["attempts"]] == [one.code for one in turn.calculation.attempts]
        assert shown["description"] == (turn.calculation.description if turn.HasField("calculation") else None)


def test_flags_belong_to_the_turn_they_name() -> None:
    made = conversation()
    flags = [Flag(turn=made.turns[1].number, claim="5 m", evidence="6 m")]
    view = conversation_view(made, reasons=["too long"], flags=flags)
    assert view["reasons"] == ["too long"]
    assert [turn["flags"] for turn in view["turns"]][:2] == [[], [{"claim": "5 m", "evidence": "6 m"}]]


def test_a_call_tells_its_model_outcome_tokens_and_time() -> None:
    turn = Turn()
    turn.calls.add(
        role="tutor",
        model="m",
        raw=["{}"],
        reasoning=["hm"],
        prompt="Decide.",
        outcome=ParseOutcome.PARSE_OUTCOME_STRICT,
        prompt_tokens=10,
        completion_tokens=2,
        seconds=0.5,
    )
    turn.calls.add(role="tutor", model="m")
    first, second = conversation_view(Conversation(turns=[turn]))["turns"][0]["calls"]
    assert first == {
        "role": "tutor",
        "raw": ["{}"],
        "thoughts": ["hm"],
        "prompt": "Decide.",
        "told": "m · strict · 10 + 2 tokens · 0.50 s",
    }
    assert second["told"] == "m · 0 + 0 tokens"


def test_the_student_goes_by_name_where_there_is_one_and_a_person_stays_a_person() -> None:
    made = labelled(conversation(), "mathdial")
    assert conversation_view(made)["persona"] == "Alex"
    made.person = True
    assert conversation_view(made)["persona"] == "a person"


@pytest.mark.parametrize(
    ("recipe", "drawn", "labels"),
    [
        ("mathdial", "its wrong solution: doubted", {"move": "focus", "intent": "guide focus"}),
        ("mathwell", "opening", None),
        (
            "scaffold",
            "to show: confusion",
            {"sub-question": "1", "understanding tested": None, "learner state": "confusion"},
        ),
        ("soliloquy", "meant wrong: arithmetic", {"action": "8", "step": "1", "state": "in progress"}),
    ],
)
def test_a_turn_has_what_was_drawn_and_labels_in_the_words_of_its_recipe(
    recipe: str, drawn: str, labels: dict[str, str | None] | None
) -> None:
    made = labelled(conversation(), recipe)
    first, second, _ = conversation_view(made)["turns"]
    assert (first["drawn"], first["labels"]) == (drawn, labels)
    assert second["drawn"] == "meant wrong"
    assert turn_view(made.turns[0], recipe) == first


@each_case
def test_a_conversation_has_the_texts_that_belong_to_all_of_it(recipe: str, title: str, text: str) -> None:
    view = conversation_view(labelled(conversation(), recipe))
    assert view["parts"] == [{"title": title, "text": text}]


def test_a_conversation_that_never_began_has_no_turns() -> None:
    assert conversation_view(Conversation(id="c1"))["turns"] == []
