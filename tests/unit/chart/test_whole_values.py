"""Checks that null values, and values that an older chart lacked, take their defaults."""

import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import values_table
from tests.chart.render import CHART, HELMS, Values, load, rendered
from tests.unit.chart.objects import REQUIRED, objects, services

RELEASED = CHART.parent / "released"
DEFAULTS: Values = yaml.safe_load(values_table.VALUES.read_text("utf-8"))
# Entries that a user removes from these maps stay removed.
WHOLE = ("labels", "resources")


def emptied(value: Any, name: str = "") -> Any:
    """Sets every entry of a map to null; Helm drops defaults whose value is null."""
    if isinstance(value, dict) and name not in WHOLE:
        return {each: emptied(below, each) for each, below in value.items()}
    return value if name in WHOLE else None


def merged(older: Any, default: Any) -> Any:
    """Returns the older chart's values, with null for values that it lacked."""
    if isinstance(default, dict) and isinstance(older, dict):
        return older | {name: merged(older.get(name), below) for name, below in default.items()}
    return older


def test_templates_have_the_defaults_of_values_yaml() -> None:
    assert values_table.DEFAULTS.read_text("utf-8") == values_table.defaults(), "make docs writes it"


@pytest.mark.parametrize("release", sorted(RELEASED.glob("*.tgz")), ids=lambda path: path.stem)
def test_the_values_of_a_release_render_as_helm_reuses_them(release: Path) -> None:
    with tarfile.open(release) as packed:
        file = packed.extractfile("soliloquy/values.yaml")
        assert file
        values: Values = yaml.safe_load(file)
    kept = {name: merged(values.get(name), default) for name, default in DEFAULTS.items()}
    # Released with the planner off.
    assert set(services(load(rendered(HELMS[0], kept, REQUIRED)))) == set(services(objects())) - {"planner"}


@pytest.mark.parametrize("program", HELMS)
def test_values_that_lack_everything_render_as_the_defaults_do(program: str) -> None:
    sections: Values = dict.fromkeys(DEFAULTS)
    every = {name: emptied(value, name) for name, value in DEFAULTS.items()}
    told = rendered(program, REQUIRED)
    for lacking in (sections, every):
        assert rendered(program, lacking, REQUIRED) == told


def test_a_gpu_that_is_taken_away_does_not_come_back() -> None:
    workers: Values = {"resources": {"limits": {"nvidia.com/gpu": None, "amd.com/gpu": 1}}}
    served: Values = {"enabled": True, "path": "/models/base", "workers": workers}
    told = rendered(HELMS[0], REQUIRED, {"apiVersionsCheck": False, "model": {"engine": "ray"}, "modelService": served})
    assert "amd.com/gpu: 1" in told
    assert "nvidia.com/gpu" not in told
