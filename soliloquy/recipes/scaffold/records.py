"""A conversation as one JSON record: the plan, everything said, assessed, run and drawn, and what was sent back."""

from typing import Any

from soliloquy.recipes.agreement import agrees
from soliloquy.recipes.codes import EVALUATION_LETTERS, INTENTS
from soliloquy.recipes.records import attempt_record, beginning, call_record, ended, enum_name
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.rules import consistent
from soliloquy.recipes.scaffold.states import NAMES
from soliloquy.runtime.values import verdict
from soliloquy.v1.conversation_pb2 import (
    Calculation,
    Conversation,
    Judge,
    Plan,
    RejectedTry,
    Resolution,
    StudentReply,
    Turn,
    TutorReply,
)


def record(conversation: Conversation) -> dict[str, Any]:
    return {
        **beginning(conversation),
        "plan": _plan(conversation.problem.enrichment.plan),
        "persona": conversation.persona,
        "turns": [_turn(turn) for turn in conversation.turns],
        **ended(conversation),
        "annotation": {
            "resolution": enum_name(Resolution.Name(conversation.resolution), "RESOLUTION_"),
            "student_consistent": consistent(conversation),
        },
    }


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "analysis": plan.analysis,
        "questions": [
            {"question": one.question, "answer": one.answer, "steps": list(one.steps)} for one in plan.questions
        ],
        "discarded": {one.because: one.samples for one in plan.discarded},
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "sub_question": turn.sub_question,
        "solved": list(turn.solved),
        "student": _student(turn.student, turn) if turn.HasField("student") else None,
        "soliloquy": {
            "use_python": turn.HasField("calculation"),
            **_calculation(turn.calculation),
            "agrees": agrees(turn, POLICY["agreeing"]),
        },
        "tutor": _tutor(turn.tutor),
        "calls": [call_record(call) for call in turn.calls],
    }


def _calculation(calculation: Calculation) -> dict[str, Any]:
    return {
        "description": calculation.description,
        "attempts": [attempt_record(attempt) for attempt in calculation.attempts],
    }


def _student(reply: StudentReply, turn: Turn) -> dict[str, Any]:
    attempts = turn.calculation.attempts
    return {
        "text": reply.text,
        "intent": INTENTS.get(reply.intent),
        "learner_state": NAMES.get(reply.learner_state),
        "rejected": [_rejected(one) for one in reply.rejected],
        "found_right": verdict(attempts[-1].execution) if attempts else None,
    }


def _rejected(one: RejectedTry) -> dict[str, Any]:
    return {
        "text": one.text,
        "because": one.because,
        "judge": enum_name(Judge.Name(one.judge), "JUDGE_"),
        "soliloquy": _calculation(one.calculation) if one.HasField("calculation") else None,
    }


def _tutor(reply: TutorReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "thoughts": reply.thoughts,
        "evaluation": EVALUATION_LETTERS.get(reply.evaluation),
        "learner_state": NAMES.get(reply.learner_state),
    }
