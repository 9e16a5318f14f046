"""Draws the questions of an evaluation from a bank or a file, without those that the model was trained on."""

from collections.abc import Collection, Iterable, Iterator

from soliloquy.problems.bank.bank import Bank
from soliloquy.problems.bank.sampling import SampleRequest, sample
from soliloquy.problems.sources import ProblemSource
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Problem


def questions(source: ProblemSource, *, seed: int, learned: Collection[str]) -> Iterator[Problem]:
    """Yields a bank's questions over all topics and families, or those of a file in random order."""
    drawn = _of_bank(source, seed) if isinstance(source, Bank) else _of_file(source, seed)
    return (problem for problem in drawn if problem.id not in learned)


def _of_bank(bank: Bank, seed: int) -> Iterator[Problem]:
    return (bank.family(name).problem(number) for name, number in sample(SampleRequest(bank=bank.name, seed=seed)))


def _of_file(source: ProblemSource, seed: int) -> Iterable[Problem]:
    places = range(source.count or 0)
    order = draw(seed, "questions").sample(places, len(places))
    return (source.problem(seed, place) for place in order)
