"""Schemes are sound, and tasks show an item without who wrote it, or what became of it."""

import json
from copy import deepcopy
from pathlib import Path

import pytest
from pydantic import ValidationError

from soliloquy.annotation.scheme import Scheme, read_scheme, scheme_of, schemes
from soliloquy.annotation.tasks import tasks
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import (
    EVALUATION_CORRECT,
    EVALUATION_INCORRECT,
    INTENT_RIGHT,
    VERIFICATION_NONE,
    VERIFICATION_PROGRAM,
)
from tests.unit.training.growing import conversations

GROWN = conversations(6)


def test_each_shipped_scheme_takes_an_answer_to_each_question_and_refuses_others() -> None:
    assert {"mathdial", "mathwell", "mrbench", "preference", "reply_preference", "scaffold", "soliloquy"} == {
        *schemes()
    }
    for scheme in schemes().values():
        values = {
            one.name: one.labels[0].name if one.labels else one.most if one.kind == "scale" else "a remark"
            for one in scheme.questions
        }
        assert scheme.fault(values) == ""
        required = next(one.name for one in scheme.questions if one.required)
        assert scheme.fault({name: value for name, value in values.items() if name != required}) == (
            f"{required}: is missing"
        )
        assert "there is no question" in scheme.fault(values | {"colour": "red"})
        keys = [label.shortcut for one in scheme.questions for label in one.labels if label.shortcut]
        assert len({*keys}) == len(keys)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('name = "own"', "title: Field required"),
        ("name = [", "cannot be read"),
        (
            'name = "own"\ntitle = "t"\nunit = "turn"\nguide = "g"\n'
            '[[questions]]\nname = "a"\ntitle = "A"\nasks = "?"\nkind = "label"',
            "a: only a label or a span has `labels`, and it must have some",
        ),
    ],
)
def test_a_scheme_of_ones_own_that_is_broken_says_where(tmp_path: Path, text: str, fault: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(Failure) as refused:
        read_scheme(file)
    assert fault in str(refused.value)
    with pytest.raises(Failure, match="there is no scheme 'mathwel'"):
        scheme_of("mathwel")


@pytest.mark.parametrize("unit", ["conversation", "turn", "problem"])
def test_a_task_shows_the_item_and_neither_verdict_nor_model_nor_student(unit: str) -> None:
    drawn = tasks(GROWN, unit, count=4, by="random", seed=3)  # type: ignore[arg-type]
    assert drawn == tasks(GROWN, unit, count=4, by="random", seed=3)  # type: ignore[arg-type]
    assert len(drawn) == 4
    for task in drawn:
        shown = json.dumps(task["shown"])
        assert task["shown"]["question"]
        assert not {"evaluation", "verification", "persona", "model", "intent"} & {*task["shown"]}
        assert "scripted" not in shown
        assert unit == "problem" or {"student", "tutor"} == {one["role"] for one in task["shown"]["messages"]}


def test_the_least_certain_verdicts_come_first_and_strata_take_turns() -> None:
    one = deepcopy(conversations(1)[0])
    for turn in one.turns:
        turn.verification = VERIFICATION_PROGRAM
    one.turns[-1].verification = VERIFICATION_NONE
    [first] = tasks([one], "turn", count=1, by="uncertainty", seed=0)
    assert first["item"] == f"{one.id}#{one.turns[-1].number}"
    strata = [deepcopy(one) for _ in range(9)]
    for number, each in enumerate(strata):
        each.id, each.persona = str(number), "rare" if number == 8 else "common"
    assert "8" in {task["item"] for task in tasks(strata, "conversation", count=2, by="stratum", seed=0)}


def test_a_scheme_of_mistakes_draws_only_replies_to_one() -> None:
    one = deepcopy(conversations(1)[0])
    for turn in one.turns:
        turn.student.intent, turn.tutor.evaluation = INTENT_RIGHT, EVALUATION_CORRECT
    with pytest.raises(Failure, match="no reply to a student's mistake"):
        tasks([one], "turn", turns=schemes()["mrbench"].turns, count=9, by="random", seed=0)
    one.turns[1].tutor.evaluation = EVALUATION_INCORRECT
    drawn = tasks([one], "turn", turns="mistakes", count=9, by="random", seed=0)
    assert [task["item"] for task in drawn] == [f"{one.id}#2"]
    with pytest.raises(ValidationError, match="turns: is for the unit turn"):
        Scheme.model_validate(schemes()["mathwell"].model_dump() | {"turns": "mistakes"})
