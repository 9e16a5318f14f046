"""A quantity of a text is the same as a result in any unit of its kind, rounded as it may be."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.spellings import drawn_spellings, is_read
from soliloquy.truth.grammar_table import TABLE, written
from soliloquy.truth.quantities import calculations_in, is_same, quantities_in
from soliloquy.truth.units import unit
from soliloquy.truth.units import unit as known_unit
from tests.cases import each_case


@each_case
def test_the_same_in_other_words_is_the_same(text: str, value: float, unit: str) -> None:
    [written] = quantities_in(text)
    assert is_same(written, value, unit, 0.005)


def test_what_stands_under_a_root_is_not_read_without_it() -> None:
    assert not list(calculations_in("It is √(1 - 0.89²)"))
    [found] = calculations_in("So it is (1 - 0.89²)")
    assert found.value == pytest.approx(0.2079)


@each_case
def test_another_value_kind_or_sign_is_another(text: str, value: float, unit: str) -> None:
    [written] = quantities_in(text)
    assert not is_same(written, value, unit, 0.005)


def test_a_sum_of_money_is_read_once() -> None:
    assert [one.value for one in quantities_in("$76-$12")] == [76, 12]


def test_what_a_text_states_is_told_from_what_it_works_with() -> None:
    written = quantities_in("I did 2 × 57.6 m / 9.81 and got 11.74 in step 3")
    assert [one.value for one in written if one.stated] == [11.74]
    assert [one.value for one in written if one.term] == [2, 57.6, 9.81]


@pytest.mark.parametrize("text", ["**36 N**", "It is 36 N – because I multiplied.", "It is 36 N - since I multiplied."])
def test_marks_and_dashes_make_no_term(text: str) -> None:
    [written] = quantities_in(text)
    assert not written.term


def test_a_price_between_two_prices_is_one_too() -> None:
    written = quantities_in("It is $4 for tea, $3 + $2 for cake, so $9 = $4 + $5.")
    assert {one.unit for one in written} == {known_unit("$")}
    assert [one.value for one in written if one.term] == [3, 2, 9, 4, 5]


def test_the_minus_before_a_price_is_its_sign() -> None:
    assert [(one.value, one.term) for one in quantities_in("It is $4 - $7, so -$3.")] == [
        (4, True),
        (7, True),
        (-3, False),
    ]


def test_a_pronoun_before_a_verb_counts_nothing() -> None:
    assert not quantities_in("This one was hard.")
    assert [one.value for one in quantities_in("There were two pens, and then zero pens.")] == [2, 0]


def test_prices_in_two_lines_are_two() -> None:
    assert [one.value for one in quantities_in("2 teas: $8\n1 cake: $3")] == [2, 8, 1, 3]


@pytest.mark.timeout(60)
def test_brackets_without_end_are_read_in_a_moment() -> None:
    assert not list(calculations_in("(" * 100_000 + "1 = 1"))
    [found] = calculations_in("((((2 + 1)) * 3))")
    assert found.value == 9


@pytest.mark.timeout(60)
def test_a_long_line_of_blanks_is_read_in_a_moment() -> None:
    assert [one.value for one in quantities_in(" " * 100_000 + "4 N")] == [4]


_FOLDER = Path(__file__).with_name("quantities")


def _labelled(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_FOLDER / name).read_text("utf-8").splitlines()]


def _is_read(row: dict[str, Any]) -> bool:
    found = [(one.unit or unit(""), one.value) for one in quantities_in(row["text"])]
    wanted = [(unit(own), value) for value, own in row["quantities"]]
    return [own.kind for own, _ in found] == [own.kind for own, _ in wanted] and all(
        math.isclose(own.in_base(value), other.in_base(label), rel_tol=1e-9, abs_tol=1e-12)
        for (own, value), (other, label) in zip(found, wanted, strict=True)
    )


def test_the_table_is_the_compiled_grammar() -> None:
    assert TABLE.read_text("utf-8") == written(), "run `python -m soliloquy.truth.grammar_table`"


def test_what_is_written_in_any_way_is_read_back() -> None:
    assert [one for one in drawn_spellings(3_000, seed=5) if not is_read(one)] == []


@pytest.mark.parametrize("row", _labelled("labelled.jsonl"), ids=lambda row: row["text"][:40])
def test_the_quantities_of_a_sentence_are_those_that_a_person_reads(row: dict[str, Any]) -> None:
    assert _is_read(row)


def test_sentences_that_have_taught_the_grammar_nothing_are_read_as_well() -> None:
    assert len([row for row in _labelled("second.jsonl") if not _is_read(row)]) <= 1


@pytest.mark.parametrize("text", ["1,2,3 and 4", "(3/2)kT on average", "A = π r² and F = 2π√(l/g)", "1e999 J"])
def test_lists_and_factors_of_formulas_are_no_quantities_of_their_own(text: str) -> None:
    assert all(one.value % 1 == 0 for one in quantities_in(text))
