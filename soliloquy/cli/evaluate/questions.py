"""The questions of an evaluation: drawn from a bank or a file, and none that a dataset holds."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.problems.bank.bank import Bank
from soliloquy.problems.bank.sampling import SampleRequest, sample
from soliloquy.problems.sources import BadProblemFile, ProblemSource, UnknownProblems, problem_source
from soliloquy.runs.failure import Failure
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Problem


def held_out(problems: str, *, seed: int, trained: Sequence[Path]) -> tuple[ProblemSource, Iterator[Problem]]:
    """A bank or file, and its questions that none of these datasets holds; raises Failure."""
    try:
        source = problem_source(problems)
    except (BadProblemFile, UnknownProblems) as unusable:
        raise Failure(str(unusable)) from unusable
    return source, questions(source, seed=seed, learned=_learned(trained))


def questions(source: ProblemSource, *, seed: int, learned: Collection[str]) -> Iterator[Problem]:
    """Of a bank topic after topic and family after family; of a file in an order that the seed draws."""
    drawn = _of_bank(source, seed) if isinstance(source, Bank) else _of_file(source, seed)
    return (problem for problem in drawn if problem.id not in learned)


def _learned(datasets: Sequence[Path]) -> set[str]:
    """The problems that the conversations of these datasets are about."""
    try:
        return {conversation.problem.id for folder in datasets for conversation in Dataset(folder)}
    except NoDataset as error:
        raise Failure(str(error)) from error


def _of_bank(bank: Bank, seed: int) -> Iterator[Problem]:
    return (bank.family(name).problem(number) for name, number in sample(SampleRequest(bank=bank.name, seed=seed)))


def _of_file(source: ProblemSource, seed: int) -> Iterable[Problem]:
    places = range(source.count or 0)
    order = draw(seed, "questions").sample(places, len(places))
    return (source.problem(seed, place) for place in order)
