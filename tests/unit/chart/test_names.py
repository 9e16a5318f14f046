"""Checks that every object's name is valid, whatever the release is called."""

import re

import pytest

from tests.chart.render import HELMS, load, rendered
from tests.unit.chart.objects import PUBLIC, REQUIRED, SERVED, TRAINED

# Length limit of a Service's name, a label derived by a controller, or a name that KubeRay extends.
LONGEST = {"Service": 63, "StatefulSet": 52, "CronJob": 52, "RayService": 47, "RayJob": 47}


@pytest.mark.parametrize("release", ["a" * 53, "soliloquy", "grow.in.europe", "a-" * 20 + "a"])
def test_names_fit_whatever_the_release_is_called(release: str) -> None:
    found = load(rendered(HELMS[0], REQUIRED, PUBLIC, SERVED, TRAINED, {"apiVersionsCheck": False}, release=release))
    assert LONGEST.keys() <= {each["kind"] for each in found}
    for each in found:
        name = each["metadata"]["name"]
        assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", name), name
        assert len(name) <= LONGEST.get(each["kind"], 63), name
