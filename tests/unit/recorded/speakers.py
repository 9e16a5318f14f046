"""Speakers in the manner of strong models: recorded answers where one fits a request, the scripted model elsewhere."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.recipes.recipe import find
from soliloquy.runtime.model import StreamListener
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, Turn
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.planner.handler import Enrichments, enrich
from tests.unit.scripted.growing import finished

HERE = Path(__file__).parent
UNUSABLE = "unusable"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    prompt: str
    text: str
    # What slots of the prompt are, and what they hold, where the answer fits.
    is_: Mapping[str, str] = field(default_factory=dict)
    holds: Mapping[str, str] = field(default_factory=dict)
    # What sends it back: a rule, or that it is unusable; empty for an answer that is right.
    planted: str = ""

    def fits(self, request: GenerateRequest) -> bool:
        slots = request.record.slots
        return (
            request.prompt == self.prompt
            and all(slots.get(name, "") == value for name, value in self.is_.items())
            and all(held in slots.get(name, "") for name, held in self.holds.items())
        )


def recorded(recipe: str) -> tuple[Mapping[str, Any], Sequence[Recorded]]:
    """Returns the problem that the answers are about, and the answers."""
    table = tomllib.loads((HERE / f"{recipe}.toml").read_text("utf-8"))
    answers = [
        Recorded(**{f"{name}_" if name == "is" else name: value for name, value in one.items()})
        for one in table["answers"]
    ]
    return table["problem"], answers


class RecordedSpeakers:
    """Gives each recorded answer that fits once in a conversation, and scripted ones in all other places."""

    def __init__(self, answers: Sequence[Recorded]) -> None:
        self._answers = answers
        self._scripted = ScriptedEngine()
        self.given: Counter[str] = Counter()
        # In the conversation under way.
        self.said: set[str] = set()

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        is_again = any(message.role == "assistant" for message in request.messages)
        fitting = [one for one in self._answers if one.fits(request) and one.text not in self.said]
        if is_again or not fitting:
            return await self._scripted.generate(request)
        chosen = min(fitting, key=lambda one: (not one.planted, self.given[one.text]))
        self.given[chosen.text] += 1
        self.said.add(chosen.text)
        return Completion(text=chosen.text.strip(), model="recorded", engine="recorded", finish=Finish.FINISH_STOP)


async def played(recipe: str, problem: Mapping[str, Any], speakers: RecordedSpeakers, *, seed: int) -> Conversation:
    speakers.said.clear()
    run = Run(id=f"run-{seed}", recipe=recipe, seed=seed, max_turns=20, max_attempts=1)
    run.enrich = find(recipe).always_enriched
    brought = problem_from_row(ProblemRow.model_validate(problem), "recorded")
    started = attempt_at(brought, run=run, ordinal=0, attempt=0)
    if not run.enrich:
        return await finished(ConversationStarted(conversation=started), engine=speakers)
    (event,) = await enrich(EnrichmentNeeded(conversation=started), speakers, Enrichments(1))
    return await finished(event, engine=speakers)


def sent_back(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Yields the answers that were sent back, each with the rule, or "unusable"."""
    turns = [*conversation.turns, *(turn for rewind in conversation.rewinds for turn in rewind.turns)]
    for calls in (conversation.problem.enrichment.calls, *(turn.calls for turn in turns)):
        yield from _unusable(calls)
    for turn in turns:
        yield from _by_rule(turn)


def _unusable(calls: Sequence[ModelCall]) -> Iterator[tuple[str, str]]:
    for call in calls:
        yield from ((raw, UNUSABLE) for raw in call.raw[:-1])


def _by_rule(turn: Turn) -> Iterator[tuple[str, str]]:
    for one in turn.rejected:
        answers = [turn.calls[place] for place in one.calls if turn.calls[place].prompt == one.prompt]
        yield from ((call.raw[-1], one.rule) for call in answers[-1:])
