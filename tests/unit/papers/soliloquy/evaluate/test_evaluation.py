"""The evaluation by cases: they are what they say, its metrics can fail, and each fails for its own reason."""

import json
from typing import Any

import pytest

from soliloquy.recipes.codes import STRATEGIES
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.recipes.soliloquy.truth import assess
from soliloquy.runtime.failure import Failure
from soliloquy.truth.quantities import quantities_in
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, Conversation, Problem, Quantity, Step, Turn
from soliloquy.v1.sandbox_pb2 import STATUS_OK
from soliloquy_papers.soliloquy.evaluate.cases import CaseKind, Rehearsal, TutorCase
from soliloquy_papers.soliloquy.evaluate.evaluation import draw_cases, figures
from soliloquy_papers.soliloquy.evaluate.judging import judge
from tests.unit.papers.soliloquy.evaluate.cases import (
    NOISY,
    SCRIPTED,
    Answering,
    Refusing,
    drawn,
    problems,
    results,
    shared_cases,
    tutoring,
)


def metrics(found: list[Any]) -> dict[str, Any]:
    return {name: share["share"] for name, share in figures(found)["metrics"].items()}


def reply(evaluation: str, action: str) -> str:
    fields = ["Thoughts of Tutorbot", "Evaluation of Student Response", "Action Based on Evaluation", "Step Number"]
    values = ["as ever", evaluation, action, "1", "q", "Let us see."]
    return json.dumps(dict(zip([*fields, "Step State", "Tutorbot Response"], values, strict=True)))


def test_each_question_is_put_with_a_right_and_with_a_wrong_number_after_the_same_words() -> None:
    kinds = [case.kind for case in shared_cases().cases]
    assert (kinds.count(CaseKind.RIGHT), kinds.count(CaseKind.WRONG), len(kinds)) == (30, 30, 90)
    rights = [case for case in shared_cases().cases if case.kind is CaseKind.RIGHT]
    wrongs = [case for case in shared_cases().cases if case.kind is CaseKind.WRONG]
    for right, wrong in zip(rights, wrongs, strict=True):
        assert [list(assess(case.conversation))[-1].claim.right for case in (right, wrong)] == [True, False]
        said = [[turn.tutor.text for turn in case.conversation.turns] for case in (right, wrong)]
        assert said[0] == said[1]
        assert {list(assess(case.conversation))[-1].progress.step for case in (right, wrong)} == {right.step.number}
        assert right.id != wrong.id
    assert len({right.conversation.problem.id for right in rights}) == 30
    assert len({right.conversation.problem.topic for right in rights}) == 8
    strategies = {StudentLabels.FromString(wrong.conversation.turns[-1].student.labels).strategy for wrong in wrongs}
    assert strategies == set(STRATEGIES)


def test_where_nothing_is_to_be_calculated_the_student_gives_no_number() -> None:
    in_words = [case for case in shared_cases().cases if case.kind is CaseKind.CONCEPT]
    openings = [case for case in shared_cases().cases if case.kind is CaseKind.OPENING]
    assert (len(in_words), len(openings)) == (15, 15)
    assert not any(quantities_in(case.conversation.turns[-1].student.text) for case in in_words)
    assert all(len(case.conversation.turns) == 1 for case in openings)


def test_the_same_seed_puts_the_same_cases_and_another_seed_others() -> None:
    first = drawn(3)
    assert drawn(3).digest == first.digest
    assert drawn(3, seed=6).digest != first.digest
    asked = [prompting.deciding(case.conversation).messages for case in drawn(3).cases]
    assert asked == [prompting.deciding(case.conversation).messages for case in first.cases]


def test_the_scripted_tutor_meets_every_metric_and_a_noisy_one_measurably_less() -> None:
    sound, noisy = figures(results(SCRIPTED)), figures(results(NOISY))
    assert {name: share["share"] for name, share in sound["metrics"].items()} == {
        "usage": 1.0,
        "non_usage": 1.0,
        "compilation": 1.0,
        "verification": 1.0,
    }
    assert sound["read_at_first"]["share"] == 1.0
    assert min(noisy["metrics"][metric]["share"] for metric in ("compilation", "verification")) < 0.99
    assert noisy["read_at_first"]["share"] < 1.0
    assert 0 < sound["rearranging"]["questions"]["passed"] < 30
    rearranging = sound["rearranging"]
    assert rearranging["metrics"]["usage"]["of"] == 2 * rearranging["questions"]["passed"]
    assert rearranging["metrics"]["usage"]["of"] + rearranging["metrics_of_others"]["usage"]["of"] == 60


NEVER = Answering("deciding", '{"Use Python": "n"}')
ALWAYS = Answering(
    "deciding",
    '{"Use Python": "y", "Description": "Compute `a` (acceleration), in m/s^2. Inputs: `F` (net force) = 1.62 N; '
    "`m` (mass) = 0.45 kg. Apply a = F / m, that is `a = F / m`. Compare it with the student's value, "
    '`student_a` = 3.6."}',
)
BROKEN = Answering(
    "use_python", '{"Python": {"Python Code": "```python\\nforce = mass *\\n```", "Result Variable": "force"}}'
)
PLEASED = Answering("received_python", reply("b", "3"))
UNREADABLE = Answering("deciding", "I would rather not.")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (NEVER, {"usage": 0.0, "non_usage": 1.0, "compilation": None, "verification": 0.0}),
        (BROKEN, {"usage": 1.0, "non_usage": 1.0, "compilation": 0.0, "verification": 0.0}),
        # Whatever the program finds, the student is told that it is right.
        (PLEASED, {"usage": 1.0, "non_usage": 1.0, "compilation": 1.0, "verification": 0.5}),
        (UNREADABLE, {"usage": 0.0, "non_usage": 0.0, "compilation": None, "verification": 0.0}),
        (Refusing(), {"usage": 0.0, "non_usage": 0.0, "compilation": None, "verification": 0.0}),
    ],
    ids=["never calculates", "writes broken code", "confirms everything", "cannot be read", "takes no prompt"],
)
def test_a_tutor_that_fails_in_one_way_fails_the_metrics_of_that_way(model: Any, expected: dict[str, Any]) -> None:
    assert metrics(results(model, drawn(4))) == expected


def test_a_tutor_that_always_calculates_fails_where_nothing_is_to_be_calculated() -> None:
    found = metrics(results(ALWAYS, drawn(4)))
    assert (found["usage"], found["non_usage"]) == (1.0, 0.0)
    # Its calculation says nothing about the student's number.
    assert found["verification"] == 0.0


def test_the_evidence_of_a_case_shows_what_was_said_run_and_found() -> None:
    wrong = next(result for result in results(SCRIPTED, drawn(1)) if result.case.kind is CaseKind.WRONG).as_json()
    assert wrong["passed"] == {"usage": True, "compilation": True, "verification": True}
    [attempt] = wrong["attempts"]
    assert (attempt["status"], attempt["values"]["is_correct"]) == ("ok", False)
    assert wrong["evaluation"] == "a"
    assert wrong["reply"]
    refused = results(Refusing(), drawn(1))[0].as_json()
    assert refused["ended"] == "the prompt has 900 tokens, which is more than the context of 512"


@pytest.mark.parametrize(
    ("unit", "value", "is_verified"), [("", 10010, True), ("", 9910, False), ("$", 9910, False), ("m", 9950, True)]
)
def test_a_program_comes_as_near_as_the_kind_of_number_asks_for(unit: str, value: float, is_verified: bool) -> None:
    step = Step(number=1, result=Quantity(symbol="n", value=10010, unit=unit))
    case = TutorCase(kind=CaseKind.RIGHT, conversation=Conversation(problem=Problem(tolerance=0.01)), step=step)
    turn = Turn(number=1)
    turn.tutor.evaluation = EVALUATION_CORRECT
    execution = turn.calculation.attempts.add(code="n = 1").execution
    execution.status = STATUS_OK
    execution.values.add(name="n").value.real = value
    assert judge(case, Conversation(turns=[turn])).passed["verification"] is is_verified


async def test_too_few_questions_are_said_with_their_number() -> None:
    few = [problem for problem, _ in zip(problems(5), range(3), strict=False)]
    with pytest.raises(Failure, match=r"only \d of 25 questions are suitable"):
        await draw_cases(few, Rehearsal(loop=tutoring(SCRIPTED), seed=5), questions=25)
