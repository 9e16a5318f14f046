"""Whole conversations of the recipe scaffold in one process, and a look at them by other code than the recipe's own."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.scaffold.memory import questions, solved
from soliloquy.recipes.scaffold.states import NAMES, drawn_state
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation, Turn
from soliloquy.v1.events_pb2 import EnrichmentNeeded
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.planner.handler import Enrichments, enrich
from tests.unit.scripted.growing import finished

BANK = load_bank("arithmetic")
ENGINE = ScriptedEngine()
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_SPACES = re.compile(r"\s")


async def scaffolded(
    count: int, *, seed: int, engine: Model = ENGINE, prompts: Mapping[str, str] = {}
) -> AsyncIterator[Conversation]:
    """So many conversations, each from its problem to its end."""
    enrichments = Enrichments(count)
    run = Run(
        id=f"run-{seed}", recipe="scaffold", seed=seed, max_turns=20, max_attempts=1, enrich=True, prompts=prompts
    )
    for ordinal in range(count):
        conversation = attempt_at(BANK.problem(seed, ordinal), run=run, ordinal=ordinal, attempt=0)
        (event,) = await enrich(EnrichmentNeeded(conversation=conversation), ENGINE, enrichments)
        yield await finished(event, engine=engine)


def shares(conversations: Sequence[Conversation], turns: int) -> dict[str, float]:
    """Counts the states drawn up to a turn; the first one is never drawn."""
    drawn = Counter(NAMES[drawn_state(turn)] for one in conversations for turn in one.turns[1:turns])
    return {name: count / drawn.total() for name, count in drawn.items()}


def told_early(conversation: Conversation) -> list[str]:
    """Returns the unfound answers that the tutor tells, by their digits or letters."""
    return [
        one.answer
        for turn in conversation.turns
        for one, found in zip(questions(conversation), solved(turn), strict=True)
        if not found and _holds(turn, one.answer, conversation)
    ]


def _holds(turn: Turn, answer: str, conversation: Conversation) -> bool:
    parted = list(zip(questions(conversation), solved(turn), strict=True))
    asked = next(one.question for one, done in parted if not done)
    found = [one for one, done in parted if done]
    public = f"{conversation.problem.question} {asked} " + " ".join(f"{one.question} {one.answer}" for one in found)
    if "=" in answer:
        return _SPACES.sub("", answer) in _SPACES.sub("", turn.tutor.text)
    value = _NUMBER.findall(answer)[0]
    return value in _NUMBER.findall(turn.tutor.text) and value not in _NUMBER.findall(public)
