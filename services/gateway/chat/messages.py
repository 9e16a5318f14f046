"""Texts and endpoints of models that a person may send to a chat, and the answers.

A person must not reach hosts through the gateway.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from soliloquy_services.gateway.access.hosts import names_loopback
from soliloquy_services.gateway.http.parsing import KnownLanguage
from soliloquy_services.gateway.refusals import Code, Refusal

_ALLOWED = "\n\t"
# Tags divide prompts: a tag in a person's text must not end a part of one.
_TAG = re.compile(r"<(/?[A-Za-z_]\w*(?:\s+\w+\s*=\s*\"[^\"<>]*\")*\s*/?)>")


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StartChat(_Body):
    """Starts a chat about a problem of a bank, or about the person's own."""

    recipe: str
    bank: str | None = None
    seed: int = 0
    question: str | None = None
    # The teacher's solution; some recipes require it.
    solution: str = ""
    # The language of the person's own problem, and of the tutor; empty for English.
    language: KnownLanguage = ""
    # Another model to tutor, at an OpenAI-compatible endpoint that the gateway allows: its base URL, name and key.
    # The key is kept in memory with the chat, and sent to the endpoint only.
    endpoint: str = ""
    model: str = ""
    key: str = Field(default="", repr=False)
    # The prompt files that differ from the recipe's own: texts by file name, 32 KiB in all.
    prompts: Mapping[str, str] = Field(default_factory=dict, repr=False)


class Say(_Body):
    text: str


class FinishChat(_Body):
    # Whether the person agrees to keep the conversation as data.
    keep: bool


class ChatMessage(_Body):
    role: Literal["student", "tutor"]
    text: str


class ChatProblem(_Body):
    topic: str
    question: str
    source: str


class ChatTutorInfo(_Body):
    """The recipe and the model that tutor."""

    model: str
    # Whether it is the rule-based stand-in, which knows the problems of the banks and no others.
    scripted: bool
    # The kinds of messages that the stand-in understands; empty for a language model.
    understands: Sequence[str]
    # Messages to begin with.
    suggestions: Sequence[str]


class ChatRecipe(_Body):
    name: str
    tutor: ChatTutorInfo


class ChatOffer(_Body):
    """Lists the choices for a chat; the first recipe is the default."""

    recipes: Sequence[ChatRecipe]
    # The model that tutors if none is chosen.
    model: str
    scripted: bool
    # The base URLs that a chat may ask, and whether it may ask any endpoint on the gateway's machine.
    endpoints: Sequence[str]
    loopback: bool


class ChatState(_Body):
    id: str
    recipe: str
    tutor: ChatTutorInfo
    problem: ChatProblem
    messages: Sequence[ChatMessage]
    over: bool


class ChatFinished(_Body):
    kept: bool
    # The ids of the kept conversation and its run; empty where it is not kept.
    conversation: str
    run: str


def clean_text(what: str, text: str, most: int) -> str:
    """Drops control characters and defuses tags; raises a Refusal for an empty or long text."""
    if len(text) > most:
        raise Refusal(Code.TOO_LARGE, f"{what} has {len(text)} characters: send at most {most}")
    cleaned = "".join(character for character in text if character in _ALLOWED or not _is_control(character)).strip()
    if not cleaned:
        raise Refusal(Code.INVALID, f"{what} is empty")
    return _TAG.sub(r"‹\1›", cleaned)


def _is_control(character: str) -> bool:
    """Counts direction marks, surrogates and unassigned characters too."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn") and character != "\u200d"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenModel:
    """A model that a person names, at an OpenAI-compatible endpoint."""

    # Includes /v1.
    base_url: str
    name: str
    # Stays in memory for as long as the chat, and goes nowhere but to the endpoint.
    key: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointRules:
    # Base URLs that the gateway's operator has listed.
    listed: Sequence[str] = ()
    # Whether a chat may ask any endpoint on this machine: only where all callers are on it, too.
    loopback: bool = False

    def check(self, chosen: ChosenModel) -> None:
        """Raises a Refusal for an endpoint that is neither listed nor, where that suffices, on this machine."""
        if not chosen.name.strip():
            raise Refusal(Code.INVALID, "model: name the model that the endpoint serves, such as qwen2.5:7b")
        if self.lists(chosen.base_url):
            return
        authority = _authority(chosen.base_url)
        if self.loopback and names_loopback(authority):
            return
        allowed = [*self.listed, *(["http://127.0.0.1:PORT/v1"] if self.loopback else [])]
        hint = f"use {' or '.join(allowed)}" if allowed else "none is allowed here"
        raise Refusal(
            Code.DENIED,
            f"endpoint: {chosen.base_url[:200]!r} is not allowed: {hint}, or have the operator start the gateway with "
            "--chat-endpoint URL",
        )

    def lists(self, base_url: str) -> bool:
        return base_url.rstrip("/") in [listed.rstrip("/") for listed in self.listed]


def _authority(url: str) -> str:
    """Returns the host and port of a URL; raises a Refusal for any other text."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and not (parts.username or parts.password or parts.query)
        authority = parts.netloc if plain and parts.hostname and not parts.fragment else ""
    except ValueError:
        authority = ""
    if not authority:
        raise Refusal(Code.INVALID, f"endpoint: {url[:200]!r} is no address of an API: write http://127.0.0.1:11434/v1")
    return authority
