"""The model that a process asks: its settings, and the scripted model that stands in for an endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.book import ProblemBook
from soliloquy.problems.sources import problem_source
from soliloquy.runtime.model import StreamingModel
from soliloquy.runtime.model.settings import Models, shipped_models

# The scripted model writes problems from this bank if none of its own sources is a bank.
_WRITING_BANK = "arithmetic"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSettings:
    # Banks and files of the problems that the scripted model knows.
    problems: Sequence[str] = ()
    # Seconds that the scripted model takes for each answer.
    latency: float = 0.0
    # "real" imitates the malformed output of real models.
    noise: str = "none"
    # Which endpoint answers each role. API keys are read where they are used and never travel with the settings.
    models: Models = field(default_factory=shipped_models)
    # A folder of completions that need no second request.
    cache: Path | None = None


def scripted_model(settings: ModelSettings, *, person: bool = False) -> StreamingModel:
    """`person` makes it answer as to a person, whose words follow no script."""
    from services.model.engines.noise import real_noise
    from services.model.engines.scripted import ScriptedEngine

    books = [problem_source(problems).book for problems in settings.problems]
    book = ProblemBook(
        lambda question: next(filter(None, (book.recognise(question) for book in books)), None),
        next((book.draw for book in books if book.draw), None) or load_bank(_WRITING_BANK).draw,
    )
    noise = real_noise() if settings.noise == "real" else None
    return ScriptedEngine(book, latency=settings.latency, noise=noise, person=person)
