"""A conversation as one JSON record: everything said, thought, run and drawn; nothing that depends on the machine."""

from typing import Any

from soliloquy.v1.conversation_pb2 import (
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
    StudentReply,
    Turn,
    TutorReply,
)

from services.recipes.codes import EVALUATION_LETTERS, INTENTS, STATE_LETTERS, STRATEGIES
from services.recipes.soliloquy.rules import agrees
from services.runtime.values import lane_name, plain, status_name, verdict


def record(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": conversation.id,
        "run": conversation.run.id,
        "ordinal": conversation.ordinal,
        "attempt": conversation.attempt,
        "recipe": conversation.run.recipe,
        "problem": _problem(conversation.problem),
        "persona": conversation.persona,
        "turns": [_turn(turn) for turn in conversation.turns],
        "ending": _name(Ending.Name(conversation.ending), "ENDING_"),
        "ending_reason": conversation.ending_reason,
    }


def _problem(problem: Problem) -> dict[str, Any]:
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
        "calls": [_call(call) for call in enrichment.calls],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "number": step.number,
        "kind": _name(StepKind.Name(step.kind), "STEP_KIND_"),
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


def _turn(turn: Turn) -> dict[str, Any]:
    calculation = turn.calculation
    return {
        "number": turn.number,
        "student": _student(turn.student, turn),
        "soliloquy": {
            "use_python": turn.HasField("calculation"),
            "description": calculation.description,
            "attempts": [_attempt(attempt) for attempt in calculation.attempts],
            "agrees": agrees(turn),
        },
        "tutor": _tutor(turn.tutor),
        "calls": [_call(call) for call in turn.calls],
    }


def _student(reply: StudentReply, turn: Turn) -> dict[str, Any]:
    """The reply with its hidden labels: what was drawn, and what the calculation found."""
    attempts = turn.calculation.attempts
    return {
        "text": reply.text,
        "intent": INTENTS.get(reply.intent),
        "strategy": STRATEGIES.get(reply.strategy),
        "found_right": verdict(attempts[-1].execution) if attempts else None,
    }


def _attempt(attempt: CodeAttempt) -> dict[str, Any]:
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


def _tutor(reply: TutorReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "thoughts": reply.thoughts,
        "evaluation": EVALUATION_LETTERS.get(reply.evaluation),
        "action": reply.action,
        "step": reply.step,
        "state": STATE_LETTERS.get(reply.state),
    }


def _call(call: ModelCall) -> dict[str, Any]:
    return {
        "role": call.role,
        "prompt": call.prompt,
        "engine": call.engine,
        "model": call.model,
        "adapter_digest": call.adapter_digest,
        "raw": list(call.raw),
        "outcome": _name(ParseOutcome.Name(call.outcome), "PARSE_OUTCOME_"),
        "tokens": [call.prompt_tokens, call.completion_tokens],
    }


def _name(enum_name: str, prefix: str) -> str:
    return enum_name.removeprefix(prefix).lower()
