"""Converts the parts of a conversation that all recipes share to JSON records and back."""

from collections.abc import Callable
from typing import Any

from soliloquy.recipes.agreement import AgreeingLetters, agrees
from soliloquy.recipes.codes import STRATEGIES, STRATEGIES_BY_NAME
from soliloquy.runtime.values import lane_name, plain, status_name
from soliloquy.v1.conversation_pb2 import (
    Calculation,
    CodeAttempt,
    Conversation,
    Ending,
    Enrichment,
    ModelCall,
    ParseOutcome,
    Problem,
    Quantity,
    Slip,
    Step,
    StepKind,
    Turn,
)
from soliloquy.v1.sandbox_pb2 import Execution, NamedValue, Value


def header_fields(conversation: Conversation) -> dict[str, Any]:
    """Identifies the conversation and its problem."""
    return {
        "id": conversation.id,
        "run": conversation.run.id,
        "ordinal": conversation.ordinal,
        "attempt": conversation.attempt,
        "recipe": conversation.run.recipe,
        "person": conversation.person,
        "problem": problem_record(conversation.problem),
    }


def ending_fields(conversation: Conversation) -> dict[str, Any]:
    return {
        "ending": enum_name(Ending.Name(conversation.ending), "ENDING_"),
        "ending_reason": conversation.ending_reason,
    }


def problem_record(problem: Problem) -> dict[str, Any]:
    return {
        "id": problem.id,
        "source": problem.source,
        "topic": problem.topic,
        "question": problem.question,
        "solution": problem.solution,
        "steps": [_step(step) for step in problem.steps],
        "answer": _quantity(problem.answer) if problem.HasField("answer") else None,
        "tolerance": problem.tolerance,
        "enrichment": _enrichment(problem.enrichment) if problem.HasField("enrichment") else None,
    }


def _enrichment(enrichment: Enrichment) -> dict[str, Any]:
    return {
        "detailed_solution": enrichment.detailed_solution,
        "outline": enrichment.outline,
        "plain_because": enrichment.plain_because,
        "calls": [call_record(call) for call in enrichment.calls],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "number": step.number,
        "kind": enum_name(StepKind.Name(step.kind), "STEP_KIND_"),
        "ask": step.ask,
        "explanation": step.explanation,
        "formula": step.formula,
        "expression": step.expression,
        "inputs": [_quantity(quantity) for quantity in step.inputs],
        "result": _quantity(step.result) if step.HasField("result") else None,
        "slips": [
            {"strategy": STRATEGIES.get(slip.strategy), "working": slip.working, "value": slip.value, "unit": slip.unit}
            for slip in step.slips
        ],
    }


def _quantity(quantity: Quantity) -> dict[str, Any]:
    return {"symbol": quantity.symbol, "name": quantity.name, "value": quantity.value, "unit": quantity.unit}


def soliloquy_record(turn: Turn, agreeing: AgreeingLetters) -> dict[str, Any]:
    return {
        "use_python": turn.HasField("calculation"),
        **calculation_record(turn.calculation),
        "agrees": agrees(turn, agreeing),
    }


def calculation_record(calculation: Calculation) -> dict[str, Any]:
    return {
        "description": calculation.description,
        "attempts": [attempt_record(attempt) for attempt in calculation.attempts],
    }


def attempt_record(attempt: CodeAttempt) -> dict[str, Any]:
    execution = attempt.execution
    return {
        "code": attempt.code,
        "result_variables": list(attempt.result_variables),
        "status": status_name(execution),
        "values": {named.name: plain(named.value) for named in execution.values},
        "stdout": execution.stdout,
        "error": execution.error,
        "error_line": execution.error_line,
        "lane": lane_name(execution),
        "isolation": execution.isolation,
    }


def call_record(call: ModelCall) -> dict[str, Any]:
    return {
        "role": call.role,
        "prompt": call.prompt,
        "engine": call.engine,
        "model": call.model,
        "adapter_digest": call.adapter_digest,
        "raw": list(call.raw),
        "outcome": enum_name(ParseOutcome.Name(call.outcome), "PARSE_OUTCOME_"),
        "tokens": [call.prompt_tokens, call.completion_tokens],
    }


def enum_name(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower()


def restore_conversation(
    record: dict[str, Any], restore_turn: Callable[[dict[str, Any]], Turn], **fields: Any
) -> Conversation:
    """Restores the fields of `header_fields` and `ending_fields`, the turns, and the recipe's own `fields`."""
    return Conversation(
        id=record["id"],
        problem=restore_problem(record["problem"]),
        persona=record["persona"],
        person=record["person"],
        turns=map(restore_turn, record["turns"]),
        ending=f"ENDING_{record['ending'].upper()}",
        ending_reason=record["ending_reason"],
        **fields,
    )


def restore_problem(problem: dict[str, Any]) -> Problem:
    return Problem(
        id=problem["id"],
        topic=problem["topic"],
        question=problem["question"],
        solution=problem["solution"],
        steps=[_restore_step(step) for step in problem["steps"]],
        answer=_restore_quantity(problem["answer"]),
        tolerance=problem["tolerance"],
        source=problem["source"],
        # Datasets written by earlier versions lack this field.
        enrichment=_restore_enrichment(problem.get("enrichment")),
    )


def _restore_enrichment(enrichment: dict[str, Any] | None) -> Enrichment | None:
    if enrichment is None:
        return None
    return Enrichment(
        detailed_solution=enrichment["detailed_solution"],
        outline=enrichment["outline"],
        plain_because=enrichment["plain_because"],
    )


def _restore_step(step: dict[str, Any]) -> Step:
    return Step(
        number=step["number"],
        kind=f"STEP_KIND_{step['kind'].upper()}",
        ask=step["ask"],
        explanation=step["explanation"],
        formula=step["formula"],
        expression=step["expression"],
        inputs=[Quantity(**quantity) for quantity in step["inputs"]],
        result=_restore_quantity(step["result"]),
        slips=[Slip(**slip | {"strategy": STRATEGIES_BY_NAME.get(slip["strategy"])}) for slip in step["slips"]],
    )


def _restore_quantity(quantity: dict[str, Any] | None) -> Quantity | None:
    return None if quantity is None else Quantity(**quantity)


def restore_calculation(record: dict[str, Any]) -> Calculation:
    return Calculation(description=record["description"], attempts=map(restore_attempt, record["attempts"]))


def restore_attempt(attempt: dict[str, Any]) -> CodeAttempt:
    return CodeAttempt(
        code=attempt["code"],
        result_variables=attempt["result_variables"],
        execution=Execution(
            status=f"STATUS_{attempt['status'].upper()}",
            error=attempt["error"],
            error_line=attempt["error_line"],
            values=[NamedValue(name=name, value=_value(value)) for name, value in attempt["values"].items()],
        ),
    )


def _value(value: Any) -> Value:
    """Converts a plain value to a tagged one; lists and mappings become the text that Python prints."""
    if value is None:
        return Value(none=True)
    if isinstance(value, bool):
        return Value(boolean=value)
    if isinstance(value, int):
        return Value(integer=str(value))
    return Value(real=value) if isinstance(value, float) else Value(text=str(value))
