"""Checks that contradictory values fail with one sentence that names the value."""

import math
from typing import Any

import pytest

from soliloquy.runs.sizing import PARTS
from tests.cases import each_case
from tests.chart.render import HELMS, Refused, Values, rendered
from tests.unit.chart.objects import IMAGES, PUBLIC, REQUIRED, SERVED, TRAINED, refusal

BASES = {"images": IMAGES, "required": REQUIRED, "served": SERVED, "trained": TRAINED, "public": PUBLIC}


def of(path: str, value: object) -> dict[str, Any]:
    """kafka.bootstrap -> {"kafka": {"bootstrap": ..}}"""
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


@each_case
def test_what_cannot_be_meant_is_refused_by_its_name(base: list[str], values: Values | None, sentence: str) -> None:
    told = refusal({"apiVersionsCheck": False}, *(BASES[name] for name in base), values or {})
    assert sentence in told
    assert len([line for line in told.splitlines() if line.startswith("Error: ")]) == 1


def test_no_more_units_run_than_a_forecast_counts_on() -> None:
    [part] = [part for part in PARTS if part.most < math.inf]
    counts = [{"services": {part.name: {"replicas": part.most + more}}} for more in (0, 1)]
    assert rendered(HELMS[0], REQUIRED, counts[0])
    assert f"services.{part.name}.replicas is {part.most + 1}: only one collector may run" in refusal(
        REQUIRED, counts[1]
    )


@each_case
def test_a_value_that_the_schema_does_not_know_is_refused_by_its_path(path: str, value: object) -> None:
    told = refusal(REQUIRED, of(path, value))
    assert "values don't meet the specifications of the schema" in told
    assert path.split(".")[-1] in told


@each_case
def test_what_kubernetes_would_refuse_of_a_list_is_refused_by_its_place(name: str, value: object) -> None:
    assert f"defaults.{name}.0" in refusal(REQUIRED, of(f"defaults.{name}", value))


def test_a_release_whose_name_begins_with_a_digit_is_told_what_to_do() -> None:
    with pytest.raises(Refused, match=r'the name "1lab-soliloquy" begins with a digit, .* set fullnameOverride'):
        rendered(HELMS[0], REQUIRED, release="1lab")
