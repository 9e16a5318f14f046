"""Writes a conversation as a JSON record with its plan and everything that was sent back."""

from typing import Any

from soliloquy.recipes.agreement import code_verdict
from soliloquy.recipes.codes import EVALUATION_LETTERS, INTENTS
from soliloquy.recipes.labels import Column
from soliloquy.recipes.records import (
    calculation_record,
    call_record,
    ending_fields,
    enum_name,
    header_fields,
    soliloquy_record,
)
from soliloquy.recipes.scaffold.labels_pb2 import (
    Plan,
)
from soliloquy.recipes.scaffold.memory import plan_of, solved, sub_question
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.rules import consistent
from soliloquy.recipes.scaffold.states import NAMES, drawn_state, found_state
from soliloquy.v1.conversation_pb2 import (
    Conversation,
    Judge,
    RejectedTry,
    Resolution,
    Turn,
)

EVALUATIONS_IN_WORDS = {
    "a": "incorrect",
    "b": "correct",
    "d": "confused",
    "e": "irrelevant",
    "f": "a question",
    "g": "nothing to judge",
}
COLUMNS = {
    "enrichment.plan.questions": Column(title="The plan", text="{number}. {question} {answer}"),
    "turn.sub_question": Column(title="sub-question"),
    "student.learner_state": Column(title="state", heading="What messages were to show", drawn="to show: {}"),
    "tutor.learner_state": Column(title="learner state", heading="What messages show"),
}


def record(conversation: Conversation) -> dict[str, Any]:
    return {
        **header_fields(conversation),
        "plan": _plan(plan_of(conversation.problem)),
        "persona": conversation.persona,
        "turns": [_turn(turn) for turn in conversation.turns],
        **ending_fields(conversation),
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
        "sub_question": sub_question(turn),
        "solved": solved(turn),
        "student": _student(turn) if turn.HasField("student") else None,
        "soliloquy": soliloquy_record(turn, POLICY["agreeing"]),
        "tutor": _tutor(turn),
        "calls": [call_record(call) for call in turn.calls],
    }


def _student(turn: Turn) -> dict[str, Any]:
    reply = turn.student
    return {
        "text": reply.text,
        "intent": INTENTS.get(reply.intent),
        "learner_state": NAMES.get(drawn_state(turn)),
        "rejected": [_rejected_try(one) for one in reply.rejected],
        "found_right": code_verdict(turn.calculation),
    }


def _rejected_try(one: RejectedTry) -> dict[str, Any]:
    return {
        "text": one.text,
        "because": one.because,
        "judge": enum_name(Judge.Name(one.judge), "JUDGE_"),
        "soliloquy": calculation_record(one.calculation) if one.HasField("calculation") else None,
    }


def _tutor(turn: Turn) -> dict[str, Any]:
    reply = turn.tutor
    return {
        "text": reply.text,
        "thoughts": reply.thoughts,
        "evaluation": EVALUATION_LETTERS.get(reply.evaluation),
        "learner_state": NAMES.get(found_state(turn)),
    }
