"""A conversation from its record, as far as its prompts and its rules need it."""

from typing import Any

from soliloquy.recipes.codes import EVALUATIONS, INTENTS
from soliloquy.recipes.restoring import attempt_of, problem_of
from soliloquy.recipes.scaffold.states import STATES
from soliloquy.v1.conversation_pb2 import (
    Calculation,
    Conversation,
    Discarded,
    Enrichment,
    Plan,
    RejectedTry,
    StudentReply,
    SubQuestion,
    Turn,
    TutorReply,
)

_INTENTS = {name: intent for intent, name in INTENTS.items()}


def restored(record: dict[str, Any]) -> Conversation:
    conversation = Conversation(
        id=record["id"],
        problem=problem_of(record["problem"]),
        persona=record["persona"],
        person=record["person"],
        turns=[_turn(turn) for turn in record["turns"]],
        ending=f"ENDING_{record['ending'].upper()}",
        ending_reason=record["ending_reason"],
        resolution=f"RESOLUTION_{record['annotation']['resolution'].upper()}",
    )
    conversation.problem.enrichment.MergeFrom(Enrichment(plan=_plan(record["plan"])))
    return conversation


def _plan(plan: dict[str, Any]) -> Plan:
    return Plan(
        analysis=plan["analysis"],
        questions=[SubQuestion(**question) for question in plan["questions"]],
        discarded=[Discarded(because=because, samples=n) for because, n in plan["discarded"].items()],
    )


def _turn(turn: dict[str, Any]) -> Turn:
    soliloquy = turn["soliloquy"]
    return Turn(
        number=turn["number"],
        sub_question=turn["sub_question"],
        solved=turn["solved"],
        student=_student(turn["student"]) if turn["student"] else None,
        calculation=_calculation(soliloquy) if soliloquy["use_python"] else None,
        tutor=_tutor(turn["tutor"]) if turn["tutor"]["learner_state"] else None,
    )


def _calculation(soliloquy: dict[str, Any]) -> Calculation:
    attempts = [attempt_of(attempt) for attempt in soliloquy["attempts"]]
    return Calculation(description=soliloquy["description"], attempts=attempts)


def _student(student: dict[str, Any]) -> StudentReply:
    return StudentReply(
        text=student["text"],
        intent=_INTENTS.get(student["intent"]),
        learner_state=STATES.get(student["learner_state"]),
        rejected=[_rejected(one) for one in student["rejected"]],
    )


def _rejected(one: dict[str, Any]) -> RejectedTry:
    return RejectedTry(
        text=one["text"],
        because=one["because"],
        judge=f"JUDGE_{one['judge'].upper()}",
        calculation=_calculation(one["soliloquy"]) if one["soliloquy"] else None,
    )


def _tutor(tutor: dict[str, Any]) -> TutorReply:
    return TutorReply(
        text=tutor["text"],
        thoughts=tutor["thoughts"],
        evaluation=EVALUATIONS[tutor["evaluation"]],
        learner_state=STATES[tutor["learner_state"]],
    )
