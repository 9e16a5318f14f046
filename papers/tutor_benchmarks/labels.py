"""The dimensions of MRBench, and a judge that labels a response in each."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import Field

from soliloquy.recipes.answers import Text
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.runtime.files import table_beside
from soliloquy.runtime.model import Model

_FIRST_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Dimension:
    # Its name in the file.
    field: str
    title: str
    # The question to a judge.
    asks: str
    labels: Sequence[str]
    desired: str


DIMENSIONS = {name: Dimension(**row) for name, row in table_beside(__file__, "dimensions.toml").items()}
_SEEN = {"conversation", "solution"}
TEMPLATES = Templates(
    Path(__file__).with_name("prompts"),
    {"judging": _SEEN | {"response", "asks", "labels"}, "responding": _SEEN},
    recipe="mrbench",
)


class _Labelled(Answer):
    """The reason first."""

    reason: Text = Field(alias="Reason")
    label: Text = Field(alias="Label")


def label_of(text: str, labels: Sequence[str]) -> str:
    """Returns the label that a text begins with, whatever it adds in brackets; empty if there is none."""
    first = [found[0].casefold() for one in (text, *labels) if (found := _FIRST_WORD.search(one))]
    alike = [label for label, begins in zip(labels, first[1:], strict=True) if begins == first[0]] if text else []
    # Two labels say yes: to a correct answer, and to an incorrect one.
    return next((one for one in alike if ("incorrect" in one) == ("incorrect" in text)), alike[0] if alike else "")


async def judge_response(judge: Model, conversation: str, solution: str, response: str) -> dict[str, str]:
    """Returns the label of each dimension; without those whose answers stay unusable.

    The seeds are fixed, so a deterministic model repeats its judgements.
    """
    label = partial(_label, judge, conversation=conversation, solution=solution, response=response)
    found = await asyncio.gather(*(label(one) for one in DIMENSIONS.values()))
    return {name: label for name, label in zip(DIMENSIONS, found, strict=True) if label}


async def _label(judge: Model, dimension: Dimension, **seen: str) -> str:
    def check(answer: _Labelled) -> None:
        if not label_of(answer.label, dimension.labels):
            raise Unreadable(f'"Label" is {answer.label[:80]!r}: use one of {", ".join(dimension.labels)}')

    lines = "\n".join(f"- {label}" for label in dimension.labels)
    prompt = TEMPLATES.own.prompt("judging", asks=dimension.asks, labels=lines, **seen)
    ask = Ask(model=judge, role="planner", origin=(dimension.field, *seen.values()))
    try:
        return label_of((await ask(prompt, _Labelled, check)).label, dimension.labels)
    except Unusable:
        return ""
