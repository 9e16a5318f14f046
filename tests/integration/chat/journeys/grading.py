"""Holds a tutor to what a fair one does with each message of a person."""

import tomllib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.json_format import ParseDict

from soliloquy.recipes.agreement import letter_of
from soliloquy.recipes.soliloquy.labels_pb2 import TutorLabels
from soliloquy.v1.conversation_pb2 import VERIFICATION_PROGRAM, VERIFICATION_STEP, Turn
from soliloquy_services.gateway.chat.messages import StartChat
from tests.integration.chat.support import Room

_FOLDER = Path(__file__).parent
_RECIPE = "soliloquy"
_BY_LETTER = {"a": "fault", "b": "confirm", "c": "partial", "d": "ask", "e": "steer", "g": "welcome"}
_REQUESTS = {8: "help", 9: "give", 10: "back", 11: "help"}
# What a tutor may say only of what it has checked.
_VERDICTS = ("fault", "confirm", "partial")
_PROVEN = (VERIFICATION_PROGRAM, VERIFICATION_STEP)


@dataclass(frozen=True, kw_only=True, slots=True)
class Journey:
    problem: str
    manner: str
    said: Sequence[Sequence[str]]
    question: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Graded:
    """A tutor's reply to one message, and the acts that a fair tutor chooses from."""

    journey: Journey
    message: str
    due: Sequence[str]
    did: str
    reply: str
    # Whether a program ran for the verdict, or a proven step supports it.
    proven: bool

    @property
    def met(self) -> bool:
        return self.did in self.due and not self.harm

    @property
    def harm(self) -> str:
        """Names the thing that a tutor must never do; empty if it did none."""
        if self.did in _VERDICTS and self.did not in self.due:
            return f"{self.did} of what is {' or '.join(self.due)}"
        if self.did in _VERDICTS and not self.proven:
            return f"{self.did} without a calculation or a proven step"
        if self.did == "give" and "give" not in self.due:
            return "gives the step away unasked"
        return ""


def journeys(name: str) -> Iterator[Journey]:
    table = tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))
    for journey in table["journeys"]:
        yield Journey(**journey, question=table["problems"][journey["problem"]])


async def graded(opened: Room, journey: Journey) -> AsyncIterator[Graded]:
    chat = await opened.chats.start(StartChat(recipe=_RECIPE, question=journey.question))
    for message, due in journey.said:
        *_, last = await opened.answer(chat, message)
        assert last.event == "done", (message, last)
        turn = ParseDict(last.data["turn"], Turn())
        yield Graded(
            journey=journey,
            message=message,
            due=due.split("/"),
            did=_act(turn),
            reply=turn.tutor.text,
            proven=turn.verification in _PROVEN,
        )
        if last.data["over"]:
            return


def _act(turn: Turn) -> str:
    letter = letter_of(turn)
    return _REQUESTS[TutorLabels.FromString(turn.tutor.labels).action] if letter == "f" else _BY_LETTER[letter]
