"""What is asked of a chat, and what is told of it: the bodies of its requests and answers."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from services.gateway.refusals import Code, Refusal


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StartChat(_Body):
    """About a problem of a bank, or about one of one's own."""

    recipe: str
    bank: str | None = None
    seed: int = 0
    question: str | None = None
    # As the teacher would have it; some recipes cannot do without.
    solution: str = ""


class Say(_Body):
    text: str


class FinishChat(_Body):
    # Whether the conversation may be kept as data.
    keep: bool


class Said(_Body):
    role: Literal["student", "tutor"]
    text: str


class Posed(_Body):
    topic: str
    question: str
    source: str


class ChatShown(_Body):
    id: str
    recipe: str
    problem: Posed
    messages: Sequence[Said]
    over: bool


class ChatFinished(_Body):
    kept: bool
    # What it is called among the conversations of its run; empty where it is not kept.
    conversation: str
    run: str


B = TypeVar("B", bound=BaseModel)


def read(kind: type[B], body: Any) -> B:
    """What a body in JSON asks for; a Refusal that names the field."""
    try:
        return kind.model_validate(body, strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise Refusal(Code.INVALID, f"{place or 'the body'}: {problem['msg']}: see GET /openapi.json") from error
