"""The shapes that the loop's prompts ask for besides those of every recipe."""

import re
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from soliloquy.recipes.answers import Message, Text
from soliloquy.recipes.scaffold.states import STATES
from soliloquy.runtime.answers import Answer, Unreadable

_PARTS = re.compile(
    r"\[analysis and decision\](?P<analysis>.*?)\[learner state\](?P<state>.*?)\[reply\](?P<reply>.*)",
    re.DOTALL | re.IGNORECASE,
)
_NAME = re.compile(r"[a-z]+")


def _named(value: str) -> str:
    """ "**Correct**." as the name that it is."""
    found = _NAME.search(value.lower())
    return found[0] if found else value


class Described(Answer):
    """What a program is to be written for."""

    description: Text = Field(alias="Description")


class Tutored(Answer):
    """What the tutor makes of a message, and its reply: three parts, each under its heading."""

    analysis: Text
    state: Annotated[
        Literal["start", "correct", "comprehension", "incorrect", "confusion", "question", "irrelevant", "end"],
        BeforeValidator(_named),
    ]
    reply: Text

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        parts = _PARTS.search(text)
        if parts is None:
            raise Unreadable("it needs [Analysis and Decision], [Learner State] and [Reply], in this order")
        message, _ = Message.read(parts["reply"].strip())
        try:
            answer = cls.model_validate({"analysis": parts["analysis"], "state": parts["state"], "reply": message.text})
        except ValidationError as error:
            raise Unreadable(f"each part needs a text, and the state one of {', '.join(STATES)}") from error
        return answer, text == parted(answer.analysis, answer.state, answer.reply)

    @staticmethod
    def reply_so_far(raw: str) -> str:
        parts = _PARTS.search(raw)
        return parts["reply"] if parts else ""

    @classmethod
    def json_schema(cls) -> str:
        return ""


def parted(analysis: str, state: str, reply: str) -> str:
    """What a model is to write."""
    return f"[Analysis and Decision] {analysis}\n[Learner State] {state.capitalize()}\n[Reply] {reply}"
