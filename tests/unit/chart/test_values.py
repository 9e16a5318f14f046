"""Checks that values.yaml, its schema and the README's table agree."""

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deploy import values_table
from tests.chart.pairwise import pairwise
from tests.chart.render import CHART, load

VALUES = load((CHART / "values.yaml").read_bytes())[0]
SCHEMA = json.loads((CHART / "values.schema.json").read_bytes())
# Helm adds this value to every chart.
OF_HELM = {"global"}


def leaves(values: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if (reference := schema.get("$ref")) is not None:
        found: dict[str, Any] = SCHEMA["definitions"][reference.removeprefix("#/definitions/")]
        return found
    return schema


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def differences(values: dict[str, Any], schema: dict[str, Any], above: str = "") -> Iterator[str]:
    known = resolved(schema).get("properties")
    if known is None or not values:
        return
    yield from (f"{above}{name}" for name in (values.keys() ^ known.keys()) - OF_HELM)
    for name in values.keys() & known.keys():
        if isinstance(values[name], dict) and above != "services.":
            yield from differences(values[name], known[name], f"{above}{name}.")


def test_the_readme_has_the_values_of_this_chart() -> None:
    assert values_table.PAGE.read_text("utf-8") == values_table.page(), "make docs writes it"


def test_every_value_is_told_of() -> None:
    told = {tuple(value.path.split(".")) for value in values_table.values()}
    untold = [leaf for leaf in leaves(VALUES) if not any(leaf[: len(path)] == path for path in told)]
    assert untold == []


def test_the_schema_knows_the_values_and_no_others() -> None:
    assert list(differences(VALUES, SCHEMA)) == []
    service = resolved(SCHEMA["properties"]["services"]["properties"]["student"])
    assert service["properties"].keys() - {"enabled"} == VALUES["defaults"].keys()


def test_no_object_of_the_schema_takes_unknown_keys() -> None:
    # Charts around this one may give all their parts other globals.
    own = SCHEMA | {"properties": {name: one for name, one in SCHEMA["properties"].items() if name != "global"}}
    assert [list(one["properties"]) for one in objects(own) if one.get("additionalProperties") is not False] == []


levels = st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True)


# Other processes may keep the cores busy for seconds.
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(st.sampled_from(["kafka", "model", "scaling", "sandbox", "store"]), levels, min_size=2))
def test_every_two_choices_meet(choices: dict[str, list[str]]) -> None:
    rows = pairwise(choices)
    met = {frozenset(pair) for row in rows for pair in combinations(row.items(), 2)}
    wanted = {
        frozenset(((one, a), (other, b)))
        for one, other in combinations(choices, 2)
        for a in choices[one]
        for b in choices[other]
    }
    assert met == wanted
