"""Asks a model the prompts of a benchmark, each once."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import click
import uvloop

from soliloquy.cli.attended import AttendedModels
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model_answer import words_of
from soliloquy.runtime.seeds import seed
from soliloquy.v1.conversation_pb2 import ModelCall, ParseOutcome
from soliloquy.v1.model_pb2 import GenerateRequest

C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkSettings:
    asked: AttendedModels
    out: Path
    # The most of each task; None for all.
    cases: int | None
    in_flight: int
    name: str | None
    as_json: bool
    quiet: bool

    def require_model(self) -> None:
        if any(endpoint.engine == "scripted" for endpoint in self.asked.models.used.values()):
            raise click.UsageError("--model is required: the stand-in knows none of these prompts")

    def named(self, default: str = "") -> str:
        return self.name or default or str(self.asked.models.identity()["model"])

    def run(
        self, cases: Sequence[C], ask: Callable[[C, Model], Awaitable[R]], *, models: Models | None = None
    ) -> list[R]:
        """Returns the result of each case in order, asking other models than the tutor's if given; raises Failure."""
        asked = replace(self.asked, models=models) if models else self.asked
        return uvloop.run(asked.ask_about_each(cases, ask, "cases", in_flight=self.in_flight, quiet=self.quiet))


async def ask_once(model: Model, prompt: Prompt, *, case: str, stop: Sequence[str] = ()) -> ModelCall:
    """Has the tutor's model answer, and cuts the answer before the first of the stops; raises NO_ANSWER."""
    request = GenerateRequest(
        role="tutor",
        prompt=prompt.name,
        messages=prompt.messages,
        seed=seed(prompt.name, case),
        id=f"{prompt.name}/{case}",
    )
    completion = await model.generate(request)
    words = words_of(completion).text.strip()
    ends = [place for one in stop if (place := words.find(one)) >= 0]
    return ModelCall(
        role="tutor",
        prompt=prompt.name,
        raw=[words[: min(ends, default=len(words))].strip()],
        outcome=ParseOutcome.PARSE_OUTCOME_STRICT if words else ParseOutcome.PARSE_OUTCOME_EMPTY,
        model=completion.model,
        engine=completion.engine,
        endpoint=completion.endpoint,
        adapter_digest=completion.adapter_digest,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        cost=completion.cost,
    )
