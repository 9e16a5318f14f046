"""Enriches a conversation's problem before the conversation starts: each problem once, however many request it."""

import asyncio
from collections import OrderedDict
from weakref import WeakValueDictionary

from soliloquy.recipes.recipe import Recipe, find
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.runtime.events import Outcome, emit
from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Enrichment, Problem
from soliloquy.v1.events_pb2 import ConversationStarted, EnrichmentNeeded


class EnrichmentCache:
    """Remembers the enrichments used last; a forgotten one comes out the same when it is made again."""

    def __init__(self, model: Model, remembered: int) -> None:
        self._model = model
        self._remembered = remembered
        self._known: OrderedDict[str, Enrichment] = OrderedDict()
        # A conversation waits here while another one makes its enrichment; unused locks disappear.
        self._making: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, problem: Problem, recipe: Recipe) -> Enrichment:
        key = _key(problem, recipe.enrichment_prompt(problem))
        async with self._making.setdefault(key, asyncio.Lock()):
            if key not in self._known:
                # The seeds depend on the problem alone, so that every conversation gets the same answer.
                ask = Ask(model=self._model, role="planner", origin=(key,))
                self._known[key] = await recipe.planner(problem, ask)
            self._known.move_to_end(key)
            if len(self._known) > self._remembered:
                self._known.popitem(last=False)
            return self._known[key]


async def enrich(event: EnrichmentNeeded, enrichments: EnrichmentCache) -> Outcome:
    conversation = event.conversation
    enrichment = await enrichments.get(conversation.problem, find(conversation.run.recipe))
    conversation.problem.enrichment.CopyFrom(enrichment)
    return emit(ConversationStarted(conversation=conversation))


def _key(problem: Problem, prompt: Prompt) -> str:
    """Hashes the prompt and the content of the problem, but not its origin."""
    content = Problem()
    content.CopyFrom(problem)
    for origin in ("id", "source", "enrichment"):
        content.ClearField(origin)
    texts = (text for _, text in prompt.said)
    return digest(content.SerializeToString(deterministic=True).hex(), prompt.name, *texts)
