"""Restores a conversation from its record, with the fields that prompts and rules need."""

from typing import Any

from soliloquy.recipes.codes import EVALUATIONS, INTENTS_BY_NAME
from soliloquy.recipes.mathdial.composer import tutor_move
from soliloquy.recipes.mathdial.confusion import labelled
from soliloquy.recipes.mathdial.labels_pb2 import Confusion, ConversationLabels, StudentLabels
from soliloquy.recipes.records import restore_calculation, restore_conversation
from soliloquy.v1.conversation_pb2 import Conversation, Discarded, StudentReply, Turn, TutorReply


def restore(record: dict[str, Any]) -> Conversation:
    student = record["student"]
    labels = ConversationLabels(
        student_name=student["name"], pronoun=student["pronoun"], reasons_wanted=student["reasons_wanted"]
    )
    conversation = restore_conversation(
        record,
        _turn,
        labels=labels.SerializeToString(),
        resolution=f"RESOLUTION_{(record['annotation']['resolution'] or 'unspecified').upper()}",
    )
    conversation.problem.enrichment.labels = labelled(_confusion(record["confusion"]))
    return conversation


def _confusion(confusion: dict[str, Any]) -> Confusion:
    return Confusion(
        solution=confusion["solution"],
        answer=confusion["answer"],
        description=confusion["description"],
        category=f"ERROR_CATEGORY_{(confusion['category'] or 'unspecified').upper()}",
        first_wrong_step=confusion["first_wrong_step"],
        samples=confusion["samples"],
        agreeing=confusion["agreeing"],
        discarded=[Discarded(because=because, samples=n) for because, n in confusion["discarded"].items()],
    )


def _turn(turn: dict[str, Any]) -> Turn:
    soliloquy = turn["soliloquy"]
    return Turn(
        number=turn["number"],
        student=_student(turn["student"]) if turn["student"] else None,
        calculation=restore_calculation(soliloquy) if soliloquy["use_python"] else None,
        tutor=_tutor(turn["tutor"]),
    )


def _student(student: dict[str, Any]) -> StudentReply:
    belief = f"BELIEF_{(student['belief'] or 'unspecified').upper()}"
    return StudentReply(
        text=student["text"],
        intent=INTENTS_BY_NAME.get(student["intent"]),
        labels=StudentLabels(belief=belief, reasons=student["reasons"]).SerializeToString(),
    )


def _tutor(tutor: dict[str, Any]) -> TutorReply:
    reply = tutor_move(tutor["move"] or "unspecified", tutor["intent"] or "unspecified")
    reply.text, reply.thoughts = tutor["text"], tutor["thoughts"]
    if tutor["evaluation"]:
        reply.evaluation = EVALUATIONS[tutor["evaluation"]]
    return reply
