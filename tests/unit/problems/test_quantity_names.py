"""A quantity in two units is asked for by its name and unit, in every recipe."""

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.recipes.mathdial.mutation import mutated
from soliloquy.recipes.mathdial.worked_solutions import work_through
from soliloquy.recipes.quantity_names import result_name

TOURS = load_bank("arithmetic").family("tours_in_a_day").problem(3)


def test_a_result_is_told_from_the_given_quantity_that_it_was_converted_from() -> None:
    converted, counted = TOURS.steps[0], TOURS.steps[-1]
    assert result_name(converted, TOURS) == f"{converted.inputs[0].name} in {converted.result.unit}"
    assert result_name(counted, TOURS) == counted.result.name


def test_lines_on_paper_and_reasons_name_it_with_its_unit() -> None:
    name = result_name(TOURS.steps[0], TOURS)
    assert any(f"{TOURS.steps[0].inputs[0].name} in hours" in slip.because for slip in TOURS.steps[0].slips)
    assert work_through(TOURS)[0].name == name
    confusion = mutated(TOURS, Confusion())
    assert confusion is not None
    assert name in confusion.solution
