"""Checks the promises of every family over many draws and at the ends of its ranges."""

from collections.abc import Callable, Iterator, Sequence
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
PROMISES: Sequence[Promise] = (
    text_checks.wordings_differ,
    text_checks.questions_differ,
    text_checks.questions_lead_back,
    text_checks.texts_are_clean,
    text_checks.asks_keep_the_result,
    text_checks.no_step_is_asked_twice,
    text_checks.what_is_asked_for_has_a_name_of_its_own,
    text_checks.texts_stand_by_themselves,
    text_checks.concepts_need_no_number,
    text_checks.misconceptions_are_wrong,
    text_checks.wrong_laws_are_others,
    number_checks.expressions_give_their_results,
    number_checks.roundings_do_no_harm,
    number_checks.results_are_plausible,
    number_checks.slips_are_wrong,
    number_checks.slips_are_complete,
    number_checks.misconceptions_show,
    number_checks.algebra_holds,
    number_checks.units_agree,
    number_checks.laws_hold,
    number_checks.rearrangements_solve_the_law,
)


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
