"""Writes a conversation as a JSON record, with the labels of its recipe by their descriptors."""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from soliloquy.recipes.agreement import AgreeingLetters, agrees, code_verdict
from soliloquy.recipes.codes import EVALUATION_LETTERS, INTENTS, STRATEGIES
from soliloquy.recipes.labels import Labels, value_prefix
from soliloquy.runtime.values import plain
from soliloquy.truth.ledger import ledger_of
from soliloquy.v1.conversation_pb2 import (
    Calculation,
    CodeAttempt,
    Conversation,
    Enrichment,
    ModelCall,
    Problem,
    RejectedTry,
    Step,
    StudentReply,
    Turn,
    TutorReply,
)


def fields_of(message: Message, *names: str) -> dict[str, Any]:
    """Returns these fields of a message, or all of them: enums in words, unset messages as None."""
    fields: dict[str, Any] = {field.name: field for field in message.DESCRIPTOR.fields}
    return {name: _value(message, fields[name]) for name in names or fields}


def record(conversation: Conversation, labels: Labels, agreeing: AgreeingLetters) -> dict[str, Any]:
    """Returns all of a conversation that does not depend on the machine."""
    problem = conversation.problem
    return {
        "id": conversation.id,
        "run": conversation.run.id,
        "ordinal": conversation.ordinal,
        "attempt": conversation.attempt,
        "recipe": conversation.run.recipe,
        "person": conversation.person,
        "problem": _problem(problem),
        "labels": {
            **_labels_of(labels, "conversation", conversation.labels),
            **_labels_of(labels, "problem", problem.labels),
            **_labels_of(labels, "enrichment", problem.enrichment.labels),
        },
        **fields_of(conversation, "persona", "tutor_persona", "resolution"),
        "turns": [_turn(turn, labels, agreeing) for turn in conversation.turns],
        "rewinds": [
            fields_of(one, "rule", "because", "certain")
            | {"turns": [_turn(turn, labels, agreeing) for turn in one.turns]}
            for one in conversation.rewinds
        ],
        **fields_of(conversation, "ending", "ending_reason"),
    }


def _turn(turn: Turn, labels: Labels, agreeing: AgreeingLetters) -> dict[str, Any]:
    return {
        "number": turn.number,
        "labels": _labels_of(labels, "turn", turn.labels),
        "student": _message(turn, labels) if turn.HasField("student") else None,
        "soliloquy": {
            "use_python": turn.HasField("calculation"),
            **_calculation(turn.calculation),
            "agrees": agrees(turn, agreeing),
        },
        "tutor": _reply(turn.tutor, labels) if turn.HasField("tutor") else None,
        "calls": [_call(call) for call in turn.calls],
        "rejected": [_rejected_try(one) for one in turn.rejected],
    }


def _message(turn: Turn, labels: Labels) -> dict[str, Any]:
    message = turn.student
    return {
        "text": message.text,
        **_claims(message),
        "intent": INTENTS.get(message.intent),
        **_labels_of(labels, "student", message.labels),
        "found_right": code_verdict(turn.calculation),
    }


def _rejected_try(one: RejectedTry) -> dict[str, Any]:
    soliloquy = _calculation(one.calculation) if one.HasField("calculation") else None
    told = fields_of(one, "role", "prompt", "text", "rule", "because", "judge", "certain", "calls", "programs")
    return {**told, "soliloquy": soliloquy}


def _reply(reply: TutorReply, labels: Labels) -> dict[str, Any]:
    return {
        **fields_of(reply, "text", "thoughts"),
        **_claims(reply),
        "evaluation": EVALUATION_LETTERS.get(reply.evaluation),
        **_labels_of(labels, "tutor", reply.labels),
    }


def _calculation(calculation: Calculation) -> dict[str, Any]:
    return {
        "description": calculation.description,
        "attempts": [_attempt(attempt) for attempt in calculation.attempts],
        "opinions": [_attempt(attempt) for attempt in calculation.opinions],
        **fields_of(calculation, "overruled", "settled_output"),
    }


def _claims(message: StudentReply | TutorReply) -> dict[str, Any]:
    claims = [fields_of(claim, "quantity", "value", "unit") for claim in message.claims]
    return {"claims": claims, **fields_of(message, "claims_by")}


def _call(call: ModelCall) -> dict[str, Any]:
    fields = fields_of(call, "role", "prompt", "engine", "model", "adapter_digest", "raw", "outcome")
    fields |= {"endpoint": call.endpoint} if call.endpoint else {}
    return fields | {"tokens": [call.prompt_tokens, call.completion_tokens]}


def _labels_of(labels: Labels, place: str, stored: bytes) -> dict[str, Any]:
    kind = getattr(labels, place)
    return fields_of(kind.FromString(stored)) if kind else {}


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        **fields_of(problem, "id", "source", "topic", "question", "solution"),
        "steps": [_step(step) for step in problem.steps],
        **fields_of(problem, "answer", "tolerance", "plan"),
        "ledger": _ledger(problem),
        "enrichment": _enrichment(problem.enrichment) if problem.HasField("enrichment") else None,
    }


def _ledger(problem: Problem) -> list[dict[str, Any]]:
    ledger = ledger_of(problem)
    return [fields_of(entry) | {"settled": ledger.is_settled(entry)} for entry in ledger.entries]


def _step(step: Step) -> dict[str, Any]:
    slips = [fields_of(slip) | {"strategy": STRATEGIES.get(slip.strategy)} for slip in step.slips]
    return fields_of(step) | {"slips": slips}


def _enrichment(enrichment: Enrichment) -> dict[str, Any]:
    calls = [_call(call) for call in enrichment.calls]
    programs = [_attempt(program) for program in enrichment.programs]
    told = {"programs": programs} if programs else {}
    return fields_of(enrichment, "detailed_solution", "outline", "plain_because") | told | {"calls": calls}


def _attempt(attempt: CodeAttempt) -> dict[str, Any]:
    execution = attempt.execution
    return {
        **fields_of(attempt, "code", "result_variables"),
        **fields_of(execution, "status"),
        "values": {named.name: plain(named.value) for named in execution.values},
        **fields_of(execution, "stdout", "error", "error_line", "isolation"),
    }


def _value(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    if field.is_repeated:
        return [_item(item, field) for item in value]
    if field.message_type is not None and not message.HasField(field.name):
        return None
    return _item(value, field)


def _item(value: Any, field: FieldDescriptor) -> Any:
    if field.message_type is not None:
        return fields_of(value)
    if field.enum_type is not None:
        name: str = field.enum_type.values_by_number[value].name
        return name.removeprefix(value_prefix(field)).lower()
    return value
