"""A quantity is read back from every way to write it, and the labelled sentences hold what people read in them."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.spellings import drawn_spellings, is_read
from soliloquy.truth.grammar_table import TABLE, written
from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.units import unit

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
