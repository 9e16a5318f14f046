"""Speakers of another language whose answers were written by hand, as a strong model would give them."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.recipes.prompts import spoken_prompts
from soliloquy.recipes.recipe import find
from soliloquy.runtime.model import StreamListener
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.curriculum.handler import attempt_at
from soliloquy_services.planner.handler import Enrichments, enrich
from tests.unit.scripted.growing import finished

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Written:
    prompt: str
    # Given in turn, as often as the prompt has been answered before.
    texts: Sequence[str]
    # What slots of the prompt are, and what they hold, where the answers fit.
    is_: Mapping[str, str] = field(default_factory=dict)
    holds: Mapping[str, str] = field(default_factory=dict)

    def fits(self, request: GenerateRequest) -> bool:
        slots = request.record.slots
        return (
            request.prompt == self.prompt
            and all(slots.get(name, "") == value for name, value in self.is_.items())
            and all(held in slots.get(name, "") for name, held in self.holds.items())
        )


class WrittenSpeakers:
    """Answers by the first that fits; keeps what it was asked."""

    def __init__(self, recipe: str) -> None:
        table = tomllib.loads((HERE / f"{recipe}.toml").read_text("utf-8"))
        self._answers = [Written(**{"is_": one.pop("is", {}), **one}) for one in table["answers"]]
        self._given = dict.fromkeys(range(len(self._answers)), 0)
        self.asked: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        self.asked.append(request)
        for place, one in enumerate(self._answers):
            if one.fits(request):
                text = one.texts[self._given[place] % len(one.texts)]
                self._given[place] += 1
                return Completion(text=text.strip(), model="written", engine="written", finish=Finish.FINISH_STOP)
        raise AssertionError(f"nobody has written an answer to {request.prompt} with {dict(request.record.slots)}")


async def played(
    recipe: str, problem: Problem, speakers: WrittenSpeakers, *, seed: int, changed: Mapping[str, str] = {}
) -> Conversation:
    prompts = spoken_prompts(recipe, problem.language) | dict(changed)
    run = Run(id=f"run-{seed}", recipe=recipe, seed=seed, max_turns=20, max_attempts=1, prompts=prompts)
    run.language = problem.language
    run.enrich = find(recipe).always_enriched
    started = attempt_at(problem, run=run, ordinal=0, attempt=0)
    if not run.enrich:
        return await finished(ConversationStarted(conversation=started), engine=speakers)
    (event,) = await enrich(EnrichmentNeeded(conversation=started), speakers, Enrichments(1))
    return await finished(event, engine=speakers)
