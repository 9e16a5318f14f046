"""A plan is asked for until it will do, within bounds, and every other is counted with what it was refused for."""

import json
from typing import Any

import pytest

from soliloquy.recipes.scaffold.answers import UnaidedPlan
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels, Plan
from soliloquy.recipes.scaffold.lessons import lessons
from soliloquy.recipes.scaffold.memory import plan_of
from soliloquy.recipes.scaffold.plan_prompting import plan_prompts
from soliloquy.recipes.scaffold.plan_rules import POLICY
from soliloquy.recipes.scaffold.planner import enrich
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import MAX_ASKS, Ask
from soliloquy.v1.conversation_pb2 import Conversation, Enrichment, ParseOutcome
from tests.unit.answering import Answering
from tests.unit.recipes.conversations import problem

FORCE = {"Question": "What net force acts on the car?", "Expected Answer": "3600 N", "Steps": [1]}
WORK = {"Question": "How much work does the engine do with it?", "Expected Answer": "180 kJ", "Steps": [2]}
ACCEPTED = json.dumps({"Worked": [], "Reason": "It follows the solution.", "Decision": "accept"})
REFUSED = json.dumps({"Worked": [], "Reason": "Sub-question 2 is vague.", "Decision": "reject"})


def plan(*questions: dict[str, Any]) -> str:
    rows = list(questions or (FORCE, WORK))
    return json.dumps({"Analysis": "The force first, then the work.", "Sub-Questions": rows})


async def enriched(model: Answering) -> Enrichment:
    return await enrich(problem(), {}, Ask(model=model, role="planner", origin=("test",)))


def planned_in(enrichment: Enrichment) -> Plan:
    return EnrichmentLabels.FromString(enrichment.labels).plan


def discarded(enrichment: Enrichment) -> dict[str, int]:
    return {one.because: one.samples for one in planned_in(enrichment).discarded}


async def test_a_plan_that_keeps_the_rules_and_is_accepted_is_the_plan() -> None:
    enrichment = await enriched(Answering(plan(), ACCEPTED))
    assert [one.answer for one in planned_in(enrichment).questions] == ["3600 N", "180 kJ"]
    assert [list(one.steps) for one in planned_in(enrichment).questions] == [[1], [2]]
    assert planned_in(enrichment).analysis == "The force first, then the work."
    assert (discarded(enrichment), enrichment.plain_because) == ({}, "")
    assert [call.outcome for call in enrichment.calls] == [ParseOutcome.PARSE_OUTCOME_STRICT] * 2


async def test_a_refused_plan_is_asked_for_again_with_the_reason_and_counted() -> None:
    wrong = plan(FORCE, WORK | {"Expected Answer": "18 kJ"})
    skipping = plan(WORK, WORK)
    model = Answering(wrong, skipping, plan(), ACCEPTED)
    enrichment = await enriched(model)
    assert len(planned_in(enrichment).questions) == 2
    assert discarded(enrichment) == {"last": 1, "uncovered": 1}
    assert "the last answer is '18 kJ', and the problem's is 180000 J" in model.requests[1].messages[-1].text
    assert "no sub-question covers step 1" in model.requests[2].messages[-1].text


async def test_text_that_is_no_plan_is_asked_for_again_and_counted() -> None:
    enrichment = await enriched(
        Answering("1. First the force. 2. Then the work.", '{"Analysis": ""}', plan(), ACCEPTED)
    )
    assert len(planned_in(enrichment).questions) == 2
    assert discarded(enrichment) == {"unreadable": 2}


async def test_what_the_verifier_refuses_is_planned_anew_with_its_reason() -> None:
    model = Answering(plan(), REFUSED, plan(), ACCEPTED)
    enrichment = await enriched(model)
    assert discarded(enrichment) == {"verifier": 1}
    assert "Sub-question 2 is vague." in model.requests[2].messages[-1].text
    assert "Sub-question 2 is vague." not in model.requests[0].messages[-1].text
    assert model.requests[0].seed != model.requests[2].seed


async def test_words_that_come_to_another_number_than_their_step_are_refused_whatever_the_verifier_thinks() -> None:
    way = {"Question": "How do you find the net force?", "Expected Answer": "divide the mass by a", "Steps": [1]}
    right = way | {"Expected Answer": "multiply the mass by the acceleration"}
    car = problem()
    car.steps[0].expression, car.steps[1].expression = "m * a", "F * s"

    def worked(calculation: str) -> str:
        return json.dumps(json.loads(ACCEPTED) | {"Worked": [{"Sub-Question": 1, "Calculation": calculation}]})

    model = Answering(plan(way, FORCE, WORK), worked("1500 / 2.4"), plan(right, FORCE, WORK), worked("1500 * 2.4"))
    planned = planned_in(await enrich(car, {}, Ask(model=model, role="planner", origin=("test",))))
    assert planned.questions[0].answer == "multiply the mass by the acceleration"
    assert "'divide the mass by a', which is 1500 / 2.4 = 625, and step 1 comes to 3600 N" in (
        model.requests[2].messages[-1].text
    )
    # Nothing is certain of words that say no calculation, or one that nobody can read.
    for calculation in ("", "m * a", "1500", "the mass times the acceleration", "1500 / 0"):
        model = Answering(plan(way, FORCE, WORK), worked(calculation))
        planned = planned_in(await enrich(car, {}, Ask(model=model, role="planner", origin=("test",))))
        assert planned.questions[0].answer == "divide the mass by a"


async def test_no_plan_is_sought_for_ever() -> None:
    unreadable = await enriched(Answering("no"))
    assert discarded(unreadable) == {"unreadable": MAX_ASKS}
    assert unreadable.plain_because.startswith("scaffold/planning: unusable after 3 asks")
    limit = POLICY["plans"]["verified_at_most"]
    refused = await enriched(Answering(*[plan(), REFUSED] * (limit + 1)))
    assert discarded(refused) == {"verifier": limit}
    assert EnrichmentLabels.FromString(unreadable.labels).HasField("plan")
    assert not planned_in(unreadable).questions


async def test_a_plan_that_only_the_verifier_refused_is_tutored_from_and_marked() -> None:
    refused = await enriched(Answering(*[plan(), REFUSED] * POLICY["plans"]["verified_at_most"]))
    assert len(planned_in(refused).questions) == 2
    assert planned_in(refused).refused_because == "Sub-question 2 is vague."
    assert refused.plain_because == ""
    accepted = await enriched(Answering(plan(), REFUSED, plan(), ACCEPTED))
    assert planned_in(accepted).refused_because == ""
    unjudged = await enriched(Answering(plan(), "no verdict"))
    assert len(planned_in(unjudged).questions) == 2
    assert planned_in(unjudged).refused_because.startswith("scaffold/verifying: unusable")


async def test_a_problem_that_cannot_be_planned_is_not_asked_about() -> None:
    model = Answering(plan())
    bare = problem()
    bare.ClearField("answer")
    enrichment = await enrich(bare, {}, Ask(model=model, role="planner", origin=("test",)))
    assert enrichment.plain_because == "no answer: the problem has no number for one"
    assert not model.requests


async def test_the_prompts_can_be_given_back_from_the_plan() -> None:
    model = Answering(plan(), ACCEPTED)
    planned = problem()
    planned.enrichment.CopyFrom(await enriched(model))
    asked = [list(request.messages) for request in model.requests]
    assert [list(prompt.messages) for prompt in plan_prompts(planned, {})] == asked


async def test_a_model_learns_to_plan_from_the_problem_alone() -> None:
    planned = problem()
    planned.enrichment.CopyFrom(await enriched(Answering(plan(), ACCEPTED)))
    [lesson] = lessons(Conversation(problem=planned))
    assert lesson.prompt.messages[-1].text == f"<question>\n{planned.question}\n</question>"
    assert lesson.answer.splitlines() == [
        "[analysis] F = m a = 3600 N, W = F s = 180000 J",
        "[sub_questions]",
        "Sub Question 1:",
        "Question: What net force acts on the car?",
        "Expected Answer: 3600 N",
        "Sub Question 2:",
        "Question: How much work does the engine do with it?",
        "Expected Answer: 180 kJ",
        "Final answer: 180 kJ",
    ]
    assert "3600" not in " ".join(message.text for message in lesson.prompt.messages)
    assert lessons(Conversation(problem=problem())) == []
    own, strict = UnaidedPlan.read(lesson.answer)
    assert strict
    assert [(one.question, one.answer) for one in own.plan.questions] == [
        (one.question, one.answer) for one in plan_of(planned).questions
    ]


@pytest.mark.parametrize(
    "text", ["", "First the force.", "[analysis] a\n[sub_questions]", "[sub_questions] Question: a?"]
)
def test_a_plan_of_a_models_own_that_is_none_is_asked_for_again(text: str) -> None:
    with pytest.raises(Unreadable, match="it needs"):
        UnaidedPlan.read(text)
