"""Checks the promises of every family over many draws and at the ends of its ranges."""

from collections.abc import Callable, Iterator, Sequence
from inspect import getmodule, isfunction
from itertools import product
from pathlib import Path

from soliloquy.problems.bank import number_checks, text_checks
from soliloquy.problems.bank.family import Family, load_family, mixed_radix
from soliloquy.problems.bank.family_file import BadFamily
from soliloquy.truth.expressions import BadExpression, Unworkable
from soliloquy.v1.conversation_pb2 import Problem

# A prime larger than most families: consecutive draws differ in every slot.
STRIDE = 1_000_000_007

# Yields the violations of the promise that its name states; only the first one is reported.
Promise = Callable[[Family, Sequence[Problem]], Iterator[str]]
# The public functions of both modules, in their order.
PROMISES: Sequence[Promise] = [
    function
    for module in (text_checks, number_checks)
    for name, function in vars(module).items()
    if isfunction(function) and getmodule(function) is module and not name.startswith("_")
]


def faults(path: Path, *, draws: int) -> Iterator[str]:
    """Yields one line for each promise that the family of a file breaks."""
    try:
        family = load_family(path)
        problems = draw_problems(family, draws)
    except (BadFamily, Unworkable) as error:
        yield " ".join(str(error).removeprefix(f"{path.name}: ").split())
        return
    for promise in PROMISES:
        try:
            fault = next(promise(family, problems), None)
        except (BadExpression, Unworkable) as error:
            fault = str(error)
        if fault:
            yield f"{promise.__name__.replace('_', ' ')}: {fault}".replace("\n", " ")


def draw_problems(family: Family, draws: int) -> Sequence[Problem]:
    """Returns problems spread over the family, then those at the ends of its ranges."""
    spread = [family.problem(STRIDE * place) for place in range(1, draws + 1)]
    return [*spread, *(family.problem(number) for number in _extremes(family))]


def _extremes(family: Family) -> Iterator[int]:
    grids = family.file.given.values()
    first = family.count
    for grid in grids:
        first //= grid.count
    for positions in product(*((0, grid.count - 1) for grid in grids)):
        yield first * mixed_radix(zip(positions, (grid.count for grid in grids), strict=True))
