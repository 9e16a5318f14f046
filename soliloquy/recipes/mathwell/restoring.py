"""Restores a written problem from its record."""

from typing import Any

from soliloquy.recipes.mathwell.commissions import labelled
from soliloquy.recipes.mathwell.labels_pb2 import Authorship, Measures
from soliloquy.recipes.records import restore_attempt, restore_problem
from soliloquy.v1.conversation_pb2 import Calculation, Commission, Conversation, Opinion, Turn


def restore(record: dict[str, Any]) -> Conversation:
    conversation = Conversation(
        id=record["id"],
        problem=restore_problem(record["problem"]),
        turns=[_turn(turn) for turn in record["turns"]],
        ending=f"ENDING_{record['ending'].upper()}",
        ending_reason=record["ending_reason"],
    )
    authorship = Authorship(
        commission=Commission(**record["commission"]),
        opinions=[Opinion(**one | {"ruling": f"RULING_{one['ruling'].upper()}"}) for one in record["opinions"]],
        measures=Measures(**record["measures"]),
    )
    conversation.problem.labels = labelled(authorship)
    return conversation


def _turn(turn: dict[str, Any]) -> Turn:
    soliloquy = turn["soliloquy"]
    attempts = [restore_attempt(attempt) for attempt in soliloquy["attempts"]]
    calculation = Calculation(description=soliloquy["description"], attempts=attempts)
    return Turn(number=turn["number"], calculation=calculation if soliloquy["use_python"] else None)
