"""A person at the keyboard: chats over the services' own handlers, with a scripted tutor."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from unittest.mock import patch

from soliloquy.client import Sandbox
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels
from soliloquy.runs.chat import ChatProblems, tutoring
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.events import Event
from soliloquy.v1.conversation_pb2 import Conversation, Problem, Step
from soliloquy.v1.events_pb2 import EnrichmentNeeded
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.chat.chats import Chats, ChatSettings
from soliloquy_services.gateway.chat.messages import ChatState, EndpointRules, StartChat
from soliloquy_services.gateway.chat.progress import REPLY_AGAIN, ProgressEvent
from soliloquy_services.gateway.refusals import Refusal
from soliloquy_services.planner.handler import Enrichments, enrich

PROBLEMS = ChatProblems()
BANK = {"soliloquy": "physics", "scaffold": "arithmetic", "mathdial": "arithmetic"}
SEEDS = range(12)
MODEL = ModelSettings(problems=["physics", "arithmetic"])
BEGINNING = "Hi! I am stuck on this one, how do I begin?"


@dataclass(kw_only=True)
class Room:
    """Chats, and what they have published."""

    chats: Chats
    published: list[Event] = field(default_factory=list)

    async def begun(self, recipe: str) -> tuple[ChatState, Problem]:
        """About the first problem of the bank that the recipe can use."""
        for seed in SEEDS:
            try:
                shown = await self.chats.start(StartChat(recipe=recipe, bank=BANK[recipe], seed=seed))
            except Refusal:
                continue
            return shown, PROBLEMS.bank_problem(BANK[recipe], seed)
        raise AssertionError(f"none of {len(SEEDS)} problems can be talked about by {recipe}")

    async def answer(self, chat: ChatState, text: str) -> list[ProgressEvent]:
        async with aclosing(self.chats.say(chat.id, text)) as pieces:
            return [piece async for piece in pieces]


@asynccontextmanager
async def room(
    sandbox: str,
    settings: ChatSettings | None = None,
    *,
    latency: float = 0.0,
    noise: str = "none",
    sandbox_seconds: float = 10.0,
    rules: EndpointRules = EndpointRules(),  # noqa: B008 - it is frozen
    stand_in: bool = True,
) -> AsyncIterator[Room]:
    """Without a `stand_in`, the scripted model passes for one that can read a person in every recipe."""
    settings = settings or ChatSettings()
    model = replace(MODEL, latency=latency, noise=noise)
    numbers = count(1)
    async with tutoring(model, Sandbox(sandbox, deadline_seconds=sandbox_seconds), settings) as tutors:
        tutors.usual.by = replace(tutors.usual.by, scripted=stand_in)
        published: list[Event] = []

        async def publish(events: Sequence[Event]) -> None:
            published.extend(events)

        chats = Chats(tutors.usual, PROBLEMS, publish, settings, rules=rules, open_tutor=tutors.open)
        # The scripted model draws its words by the chat's id.
        with patch("soliloquy_services.gateway.chat.chats.secrets.token_urlsafe", lambda: f"chat-{next(numbers)}"):
            yield Room(chats=chats, published=published)


def reply_in(pieces: Sequence[ProgressEvent]) -> str:
    """Returns the final text on the screen."""
    text = ""
    for piece in pieces:
        if piece == REPLY_AGAIN:
            text = ""
        elif piece.event == "reply":
            text += piece.data["delta"]
    return text


async def answers(recipe: str, problem: Problem) -> list[str]:
    """Yields a good student's messages, first to last."""
    if recipe == "scaffold":
        # Every planner plans a problem alike.
        conversation = Conversation(run=Run(recipe=recipe, enrich=True), problem=problem)
        needed = EnrichmentNeeded(conversation=conversation)
        [planned] = await enrich(needed, scripted_model(MODEL), Enrichments(1))
        plan = EnrichmentLabels.FromString(planned.conversation.problem.enrichment.labels).plan
        return [f"I find {question.answer}." for question in plan.questions]
    return [BEGINNING] * (recipe == "soliloquy") + [_worked(step) for step in problem.steps]


def _worked(step: Step) -> str:
    if not step.HasField("result"):
        return f"{step.formula} {step.explanation}"
    return f"{step.formula}, so it is {step.result.value:g} {step.result.unit}"
