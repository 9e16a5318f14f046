"""Writes the parts of a conversation that all recipes share as JSON records."""

from typing import Any

from soliloquy.recipes.agreement import AgreeingLetters, agrees
from soliloquy.recipes.codes import STRATEGIES
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
    Step,
    StepKind,
    Turn,
)


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
