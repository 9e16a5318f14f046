"""Whole conversations of the recipe mathdial in one process, a few about each problem."""

import math
from collections.abc import AsyncIterator, Sequence

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.mathdial.claims import holds_answer
from soliloquy.recipes.mathdial.moves import move_name
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import EnrichmentNeeded
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.planner.handler import Enrichments, enrich
from tests.unit.scripted.growing import finished

BANK = load_bank("arithmetic")
ENGINE = ScriptedEngine()
MOVES = ("focus", "generic", "probing", "telling")


async def dialled(count: int, *, problems: int, seed: int) -> AsyncIterator[Conversation]:
    """So many conversations, each from its problem to its end."""
    enrichments = Enrichments(problems)
    run = Run(id=f"run-{seed}", recipe="mathdial", seed=seed, max_turns=20, max_attempts=1, enrich=True)
    for ordinal in range(count):
        conversation = attempt_at(BANK.problem(seed, ordinal % problems), run=run, ordinal=ordinal, attempt=0)
        (event,) = await enrich(EnrichmentNeeded(conversation=conversation), ENGINE, enrichments)
        yield await finished(event, engine=ENGINE)


def shares(conversations: Sequence[Conversation], turns: slice = slice(None)) -> dict[str, float]:
    """Counts each move among the tutor's messages of these turns."""
    moves = [move_name(turn.tutor) for one in conversations for turn in one.turns[turns]]
    return {move: moves.count(move) / len(moves) for move in MOVES}


def told_at(conversation: Conversation) -> float:
    """The first message, from 1, in which the tutor states the final answer before the student has it."""
    for number, turn in enumerate(conversation.turns, start=1):
        if holds_answer(turn.student.text, conversation.problem):
            return math.inf
        if holds_answer(turn.tutor.text, conversation.problem):
            return number
    return math.inf
