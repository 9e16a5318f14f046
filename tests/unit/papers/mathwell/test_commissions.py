"""Checks which commissions are valid, and what a writer learns of them."""

import asyncio

import pytest

from soliloquy.problems.commission_source import EXAMPLES, CommissionSource
from soliloquy.problems.sources import problem_source
from soliloquy.v1.conversation_pb2 import Commission, Ending, Example, Problem
from soliloquy_papers.mathwell.commissions import authorship_of, describe, topic_refusal
from soliloquy_papers.mathwell.commissions import commissioned as in_labels
from soliloquy_papers.mathwell.prompting import writing
from soliloquy_papers.mathwell.recipe import RECIPE
from tests.cases import each_case
from tests.unit.papers.mathwell.writing import BANK, Says, commissioned, commissions, made


@each_case
def test_a_topic_that_tells_somebody_what_to_do_is_refused_before_any_model_is_asked(topic: str) -> None:
    model = Says()
    conversation = asyncio.run(made(commissioned(topic), model))
    assert model.asked == []
    assert conversation.ending == Ending.ENDING_UNFIT
    (fault,) = RECIPE.faults(conversation)
    assert fault.startswith("unfit topic: ")


@pytest.mark.parametrize(
    "topic", ["dinosaurs", "Pippi's house", "rock ’n’ roll", "São Paulo", "the 2024 games", "R & B"]
)
def test_a_topic_is_whatever_else_children_like(topic: str) -> None:
    assert topic_refusal(topic) == ""


@pytest.mark.parametrize("topic", ["", "  ", "\t"])
def test_an_empty_topic_is_none(topic: str) -> None:
    assert topic_refusal(topic).startswith("unfit topic: it is empty")


def test_a_problem_without_a_commission_is_not_written() -> None:
    conversation = asyncio.run(made(Problem(id="p1", topic="penguins"), Says()))
    (fault,) = RECIPE.faults(conversation)
    assert fault.startswith("not commissioned: ")


def test_each_commission_shows_eight_problems_of_the_bank_and_is_the_same_every_time() -> None:
    for ordinal in range(5):
        problem = commissions().problem(7, ordinal)
        examples = authorship_of(problem).commission.examples
        assert len({example.question for example in examples}) == EXAMPLES
        assert all(example.solution.startswith("def solution():") for example in examples)
        assert problem == commissions().problem(7, ordinal)
        assert problem != commissions().problem(8, ordinal)


def test_what_is_asked_for_is_part_of_a_runs_identity() -> None:
    asked = [commissions(), commissions(grade=3), commissions(operations=("addition",))]
    asked.append(CommissionSource(examples=BANK, topics=("penguins",), commissioned=in_labels))
    assert len({one.digest for one in asked}) == len(asked)


def test_examples_of_a_file_are_its_own_programs(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("problems") / "three.jsonl"
    program = "def solution():\\n    a = 2\\n    return a * 3"
    lines = [f'{{"question": "What is {n} threes?", "solution": "{program}"}}' for n in range(3)]
    path.write_text("\n".join(lines), "utf-8")
    source = CommissionSource(examples=problem_source(str(path)), topics=("",), commissioned=in_labels)
    shown = authorship_of(source.problem(1, 0)).commission.examples
    assert len(shown) == 3
    assert {example.solution for example in shown} == {"def solution():\n    a = 2\n    return a * 3"}


def test_the_prompt_says_what_is_wanted_and_holds_the_topic_as_data() -> None:
    wanted = commissioned("penguins", grade=3, operations=["addition", "division"], examples=[Example(question="Q?")])
    *_, asked = writing(wanted, {}).messages
    assert "<topic>penguins</topic>" in asked.text
    assert "school year 3" in asked.text
    assert "<operations>addition, division</operations>" in asked.text
    assert "Problem: Q?" in asked.text
    *_, free = writing(commissioned(""), {}).messages
    assert "<topic>" not in free.text


def test_a_grade_alone_says_which_operations_it_knows() -> None:
    assert describe(Commission(topic="kites", grade=1)) == (
        "A word problem about kites for school year 1, solved by addition and subtraction."
    )
