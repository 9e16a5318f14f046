"""Checks many problems of the scripted writer together, and the rules that each one keeps."""

import asyncio
import json
import math
from functools import cache

import pytest

from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.problems.solving.step_graph import steps_from_program
from soliloquy.v1.conversation_pb2 import Commission, Conversation, Ending, Example, Opinion
from soliloquy.v1.sandbox_pb2 import STATUS_OK
from soliloquy_papers.mathwell.commissions import authorship_of
from soliloquy_papers.mathwell.criteria.operations import CALCULATIONS, operations_in
from soliloquy_papers.mathwell.labels_pb2 import Measures
from tests.unit.papers.mathwell.writing import (
    APPROVED,
    FUNCTION,
    QUESTION,
    RECIPE,
    Says,
    commissioned,
    commissions,
    made,
)

COUNT = 20


@cache
def written() -> list[Conversation]:
    async def write() -> list[Conversation]:
        return [await made(commissions().problem(7, ordinal)) for ordinal in range(COUNT)]

    return asyncio.run(write())


def test_every_scripted_function_runs_and_comes_to_what_its_steps_come_to() -> None:
    for one in written():
        problem = one.problem
        (attempt,) = one.turns[0].calculation.attempts
        assert attempt.execution.status == STATUS_OK
        row = ProblemRow.model_validate(
            {"question": problem.question, "solution": problem.solution, "steps": steps_from_program(problem.solution)}
        )
        assert math.isclose(problem_from_row(row, "here").answer.value, problem.answer.value, rel_tol=1e-4)


def test_every_scripted_problem_names_its_topic_and_repeats_no_example() -> None:
    for one in written():
        assert one.problem.topic in one.problem.question
        assert not [fault for fault in RECIPE.faults(one) if fault.startswith("copied")]


def test_a_conversation_is_one_turn_in_which_nobody_speaks() -> None:
    for one in written():
        (turn,) = one.turns
        assert one.ending == Ending.ENDING_WRITTEN
        assert not turn.HasField("student")
        assert not turn.HasField("tutor")
        asked = [call.prompt for call in turn.calls]
        assert asked == ["mathwell/writing", "mathwell/judging"][: len(asked)]
        assert [prompt.name for _, prompt in RECIPE.prompts(one)] == asked


def test_a_model_has_to_agree_with_the_rules_and_is_asked_only_what_they_let_pass() -> None:
    agreed = asyncio.run(made(commissioned(), Says()))
    assert {one.judge for one in authorship_of(agreed.problem).opinions} == {"rules", "model"}
    unfit = asyncio.run(made(commissioned(), model := Says(question=f"He kills them all with a gun. {QUESTION}")))
    assert [request.prompt for request in model.asked] == ["mathwell/writing"]
    assert any(fault.startswith("appropriate: ") for fault in RECIPE.faults(unfit))


@pytest.mark.parametrize("operations", [*((each,) for each in CALCULATIONS), ("multiplication", "division")])
def test_a_problem_takes_only_the_operations_that_are_asked_for(operations: tuple[str, ...]) -> None:
    for ordinal in range(5):
        one = asyncio.run(made(commissions(operations=operations).problem(7, ordinal)))
        assert set(operations_in(one.problem.solution, one.problem.question)) <= set(operations)


def test_other_operations_than_asked_for_are_a_reason() -> None:
    one = asyncio.run(made(commissioned(operations=["subtraction"]), Says()))
    assert RECIPE.faults(one) == ["other operations: it takes addition; asked for: subtraction"]


def test_a_model_sees_a_topic_that_no_word_names() -> None:
    model = Says()
    for letter, faults in (("y", []), ("n", ["topic: model: Penguins are none."])):
        model.judgement = json.dumps({**json.loads(APPROVED), "Why On Topic": "Penguins are none.", "On Topic": letter})
        one = asyncio.run(made(commissioned("dinosaurs"), model))
        assert RECIPE.faults(one) == faults
        assert "<topic>dinosaurs</topic>" in model.asked[-1].messages[-1].text


def test_an_example_once_more_is_not_kept() -> None:
    one = asyncio.run(made(commissioned(examples=[Example(question=QUESTION, solution=FUNCTION)]), Says()))
    assert RECIPE.faults(one) == ["copied: it is one of the examples once more"]


def test_a_further_attempt_begins_with_nothing_of_the_one_before() -> None:
    first = asyncio.run(made(commissioned("dinosaurs"), Says()))
    again = asyncio.run(made(first.problem, Says()))
    assert again.problem == first.problem


def test_a_further_attempt_is_told_why_the_one_before_was_rejected() -> None:
    order = commissioned(operations=["subtraction"])
    added = asyncio.run(made(order, Says()))
    asyncio.run(made(added.problem, again := Says()))
    assert "other operations: it takes addition; asked for: subtraction" in again.asked[0].messages[-1].text
    broken = asyncio.run(made(commissioned(), Says(code="def solution():\n    return 'two'")))
    asyncio.run(made(broken.problem, again := Says()))
    assert "solution() returned no number" in again.asked[0].messages[-1].text
    asyncio.run(made(commissioned(), first := Says()))
    assert "not taken" not in first.asked[0].messages[-1].text


def test_a_record_says_all_of_a_problem() -> None:
    for one in written()[:8]:
        record, authorship = json.loads(json.dumps(RECIPE.record(one))), authorship_of(one.problem)
        problem, [attempt] = record["problem"], record["turns"][0]["soliloquy"]["attempts"]
        assert (problem["question"], problem["solution"]) == (one.problem.question, one.problem.solution)
        assert attempt["code"] == one.turns[0].calculation.attempts[0].code
        made = record["labels"]["authorship"]
        assert Commission(**made["commission"]) == authorship.commission
        assert Measures(**made["measures"]) == authorship.measures
        opinions = [opinion | {"ruling": f"RULING_{opinion['ruling'].upper()}"} for opinion in made["opinions"]]
        assert [Opinion(**opinion) for opinion in opinions] == list(authorship.opinions)


def test_what_is_learned_of_a_problem_is_the_problem_behind_the_prompt_that_asked_for_it() -> None:
    one = asyncio.run(made(commissioned(), model := Says()))
    (lesson,) = RECIPE.lessons(one)
    request, _ = model.asked
    assert list(lesson.prompt.messages) == list(request.messages)
    assert lesson.answer == model.text
    *_, told = RECIPE.dialogue(one)
    assert (told.learned, told.text) == (True, model.text)
