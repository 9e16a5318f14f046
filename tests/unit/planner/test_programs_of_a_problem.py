"""Independent programs decide whether a conversation about a problem starts, and are asked for once."""

import json

from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.problems.solving import independent_programs
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.truth.ledger import is_worked_out, ledger_of, programs_in
from soliloquy.v1.conversation_pb2 import (
    PLAN_SOURCE_PROGRAM,
    PLAN_SOURCE_PROSE,
    PLAN_SOURCE_UNSPECIFIED,
    CodeAttempt,
    Conversation,
    Ending,
    Enrichment,
    Evidence,
)
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted, EnrichmentNeeded, ProgramsNeeded
from soliloquy.v1.runs_pb2 import Run
from soliloquy.v1.sandbox_pb2 import Execution, Status
from soliloquy_services.codegen.handler import ProgramCache, write_programs
from soliloquy_services.planner.handler import Enrichments, enrich
from tests.unit.answering import Answering
from tests.unit.planner.test_enriching import GOOD
from tests.unit.recipes.conversations import problem

PROGRAM = json.dumps({"Python": {"Python Code": "```python\nn = 1500 * 2.4 * 50\n```", "Result Variable": "n"}})


def ran(*values: float | None) -> list[CodeAttempt]:
    """Returns the programs that came to these values; None is a program that failed."""
    programs = [CodeAttempt(code="n = 2 * ...", result_variables=["n"], execution=Execution()) for _ in values]
    for program, value in zip(programs, values, strict=True):
        program.execution.status = Status.STATUS_ERROR if value is None else Status.STATUS_OK
        if value is not None:
            program.execution.values.add(name="n").value.real = value
    return programs


def weighed(*programs: CodeAttempt, enriched: bool = False) -> EnrichmentNeeded:
    asked = problem()
    asked.plan = PLAN_SOURCE_UNSPECIFIED
    asked.enrichment.programs.extend(programs)
    asked.enrichment.calls.add(role="codegen")
    run = Run(id="run", recipe="soliloquy", programs=True, enrich=enriched)
    return EnrichmentNeeded(conversation=Conversation(id="one", run=run, problem=asked))


def programs_of(event: ConversationStarted) -> Evidence:
    found = programs_in(event.conversation.problem.ledger)
    assert found is not None
    return found


async def test_an_answer_that_most_programs_come_to_is_supported() -> None:
    answer = problem().answer.value
    [event] = await enrich(weighed(*ran(answer, None, answer)), Answering(GOOD), Enrichments(8))
    assert isinstance(event, ConversationStarted)
    assert programs_of(event).agreeing == 2
    assert not ledger_of(event.conversation.problem).is_disputed


async def test_an_answer_that_most_programs_contradict_and_nothing_supports_is_unfit_with_both_numbers() -> None:
    asked = weighed(*ran(7.0, 7.0, None))
    [event] = await enrich(asked, Answering(GOOD), Enrichments(8))
    assert isinstance(event, ConversationFinished)
    assert event.conversation.ending == Ending.ENDING_UNFIT
    assert "180000 J" in event.conversation.ending_reason.replace(",", "")
    assert "2 of 3 independent programs give 7 J" in event.conversation.ending_reason


async def test_an_answer_that_is_worked_out_and_that_most_programs_contradict_is_in_dispute() -> None:
    asked = weighed(*ran(7.0, 7.0, None))
    asked.conversation.problem.solution = "1500 kg * 2.4 m/s^2 * 50 m = 180000 J"
    assert is_worked_out(asked.conversation.problem)
    [event] = await enrich(asked, Answering(GOOD), Enrichments(8))
    assert isinstance(event, ConversationStarted)
    assert programs_of(event).agreeing == 2
    ledger = ledger_of(event.conversation.problem)
    assert ledger.is_disputed
    assert not any(map(ledger.is_settled, ledger.results))


async def test_programs_that_only_state_a_number_support_and_contradict_nothing() -> None:
    stating = ran(7.0, 7.0, 7.0)
    for program in stating:
        program.code = "n = 7"
    [event] = await enrich(weighed(*stating), Answering(GOOD), Enrichments(8))
    assert isinstance(event, ConversationStarted)
    assert programs_in(event.conversation.problem.ledger) is None


async def test_programs_without_a_majority_leave_the_answer_unsupported() -> None:
    [event] = await enrich(weighed(*ran(7.0, 8.0, None)), Answering(GOOD), Enrichments(8))
    assert isinstance(event, ConversationStarted)
    assert programs_in(event.conversation.problem.ledger) is None


async def test_an_enriched_problem_keeps_its_programs_and_their_calls() -> None:
    answer = problem().answer.value
    [event] = await enrich(weighed(*ran(answer, answer, answer), enriched=True), Answering(GOOD), Enrichments(8))
    enrichment: Enrichment = event.conversation.problem.enrichment
    assert enrichment.detailed_solution
    assert len(enrichment.programs) == 3
    assert [call.role for call in enrichment.calls] == ["codegen", "planner"]


async def test_a_bare_answer_takes_its_steps_from_a_program_that_comes_to_it() -> None:
    asked = weighed(*ran(15.0, 15.0, 9.0))
    bare = asked.conversation.problem
    bare.CopyFrom(
        problem_from_row(
            ProblemRow.model_validate(
                {
                    "question": "Ben bakes 4 trays of 6 rolls and eats 9 rolls. How many rolls remain?",
                    "solution": "The answer is 15.",
                    "steps": [{"explanation": "State the answer.", "result": {"symbol": "answer", "value": 15}}],
                    "answer": {"value": 15, "unit": "rolls"},
                }
            ),
            "mine.jsonl:1",
        )
    )
    bare.plan = PLAN_SOURCE_PROSE
    for code, value in (("n = 15", 15.0), ("baked = 4 * 6\nn = baked - 9", 15.0), ("n = 9", 9.0)):
        bare.enrichment.programs.append(ran(value)[0])
        bare.enrichment.programs[-1].code = code
    [event] = await enrich(asked, Answering(GOOD), Enrichments(8))
    steps = event.conversation.problem.steps
    assert event.conversation.problem.plan == PLAN_SOURCE_PROGRAM
    ledger = ledger_of(event.conversation.problem)
    assert all(map(ledger.is_settled, ledger.results))
    assert [(step.expression, step.result.value, step.result.unit) for step in steps] == [
        ("4 * 6", 24, ""),
        ("baked - 9", 15, "rolls"),
    ]
    assert steps[0].ask == "What do you get for the baked?"


async def test_steps_that_are_given_are_used() -> None:
    answer, given = problem().answer.value, [step.expression for step in problem().steps]
    asked = weighed(*ran(answer, answer, answer))
    for program in asked.conversation.problem.enrichment.programs:
        program.code = "n = 1500 * 120"
    [event] = await enrich(asked, Answering(GOOD), Enrichments(8))
    assert [step.expression for step in event.conversation.problem.steps] == given


async def test_conversations_about_one_problem_share_its_programs() -> None:
    model, programs = Answering(PROGRAM), ProgramCache(8)
    for name in ("one", "two"):
        needed = ProgramsNeeded(conversation=Conversation(id=name, run=Run(id="run"), problem=problem()))
        [event] = await write_programs(needed, model, programs)
        assert [program.code for program in event.conversation.problem.enrichment.programs] == [
            "n = 1500 * 2.4 * 50"
        ] * 3
        assert not needed.conversation.problem.HasField("enrichment")
    assert len(model.requests) == 3


async def test_the_scripted_models_program_says_that_no_rule_solves_the_question() -> None:
    programs, calls = await independent_programs.write_programs(problem(), scripted_model(ModelSettings()))
    assert [program.code for program in programs] == [
        'raise ValueError("no rule of the scripted model solves this question")'
    ] * 3
    assert {call.model for call in calls} == {"scripted"}
