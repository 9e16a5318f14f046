"""Writes a conversation as a JSON record: the parts that all recipes share, and the labels of a recipe."""

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from soliloquy.recipes.agreement import AgreeingLetters, agrees, code_verdict
from soliloquy.recipes.codes import EVALUATION_LETTERS, INTENTS, STRATEGIES
from soliloquy.recipes.labels import Labels, value_prefix
from soliloquy.runtime.values import plain
from soliloquy.v1.conversation_pb2 import (
    Calculation,
    CodeAttempt,
    Conversation,
    Discarded,
    Enrichment,
    ModelCall,
    Problem,
    Step,
    Turn,
)


def fields_of(message: Message, *names: str) -> dict[str, Any]:
    """Returns these fields of a message, or all of them: enums in words, unset messages as None."""
    fields: dict[str, Any] = {field.name: field for field in message.DESCRIPTOR.fields}
    return {name: _value(message, fields[name]) for name in names or fields}


def header_fields(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": conversation.id,
        "run": conversation.run.id,
        "ordinal": conversation.ordinal,
        "attempt": conversation.attempt,
        "recipe": conversation.run.recipe,
        "person": conversation.person,
        "problem": _problem(conversation.problem),
    }


def ending_fields(conversation: Conversation) -> dict[str, Any]:
    return fields_of(conversation, "ending", "ending_reason")


def turn_fields(
    turn: Turn, agreeing: AgreeingLetters, *, student: Mapping[str, Any] | None, tutor: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the message, the calculation, the reply and the calls of a turn.

    `student` and `tutor` are the recipe's labels of message and reply; without the first there is no message.
    """
    message, reply = turn.student, turn.tutor
    said = {"text": message.text, "intent": INTENTS.get(message.intent)}
    found = {"found_right": code_verdict(turn.calculation)}
    return {
        "student": None if student is None else {**said, **student, **found},
        "soliloquy": {
            "use_python": turn.HasField("calculation"),
            **calculation_record(turn.calculation),
            "agrees": agrees(turn, agreeing),
        },
        "tutor": {
            "text": reply.text,
            "thoughts": reply.thoughts,
            "evaluation": EVALUATION_LETTERS.get(reply.evaluation),
            **tutor,
        },
        "calls": [call_record(call) for call in turn.calls],
    }


def calculation_record(calculation: Calculation) -> dict[str, Any]:
    return {
        "description": calculation.description,
        "attempts": [_attempt(attempt) for attempt in calculation.attempts],
    }


def call_record(call: ModelCall) -> dict[str, Any]:
    fields = fields_of(call, "role", "prompt", "engine", "model", "adapter_digest", "raw", "outcome")
    fields |= {"endpoint": call.endpoint} if call.endpoint else {}
    return fields | {"tokens": [call.prompt_tokens, call.completion_tokens]}


def discarded_counts(discarded: Iterable[Discarded]) -> dict[str, int]:
    """Returns how often each reason occurred for which the planner discarded a sample."""
    return {one.because: one.samples for one in discarded}


def labelled_record(conversation: Conversation, labels: Labels, agreeing: AgreeingLetters) -> dict[str, Any]:
    """Returns the record of a conversation whose recipe has no form of its own."""
    problem = conversation.problem
    return {
        **header_fields(conversation),
        "labels": {
            **_labels_of(labels, "conversation", conversation.labels),
            **_labels_of(labels, "problem", problem.labels),
            **_labels_of(labels, "enrichment", problem.enrichment.labels),
        },
        **fields_of(conversation, "persona", "resolution"),
        "turns": [_labelled_turn(turn, labels, agreeing) for turn in conversation.turns],
        **ending_fields(conversation),
    }


def _labelled_turn(turn: Turn, labels: Labels, agreeing: AgreeingLetters) -> dict[str, Any]:
    return {
        "number": turn.number,
        "labels": _labels_of(labels, "turn", turn.labels),
        **turn_fields(
            turn,
            agreeing,
            student=_labels_of(labels, "student", turn.student.labels),
            tutor=_labels_of(labels, "tutor", turn.tutor.labels),
        ),
    }


def _labels_of(labels: Labels, place: str, stored: bytes) -> dict[str, Any]:
    kind = getattr(labels, place)
    return fields_of(kind.FromString(stored)) if kind else {}


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        **fields_of(problem, "id", "source", "topic", "question", "solution"),
        "steps": [_step(step) for step in problem.steps],
        **fields_of(problem, "answer", "tolerance"),
        "enrichment": _enrichment(problem.enrichment) if problem.HasField("enrichment") else None,
    }


def _step(step: Step) -> dict[str, Any]:
    slips = [fields_of(slip) | {"strategy": STRATEGIES.get(slip.strategy)} for slip in step.slips]
    return fields_of(step) | {"slips": slips}


def _enrichment(enrichment: Enrichment) -> dict[str, Any]:
    calls = [call_record(call) for call in enrichment.calls]
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
