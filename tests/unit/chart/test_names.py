"""Every object has a name that Kubernetes and the operators take, however a release is called."""

import re

import pytest

from tests.chart.render import HELMS, load, rendered
from tests.unit.chart.objects import KAFKA, PUBLIC, SERVED, TRAINED

# Of a Service, a label that some object's controller makes of its name, or KubeRay, which appends to it.
LONGEST = {"Service": 63, "StatefulSet": 52, "CronJob": 52, "RayService": 47, "RayJob": 47}


@pytest.mark.parametrize("release", ["a" * 53, "soliloquy", "grow.in.europe", "a-" * 20 + "a"])
def test_names_fit_whatever_the_release_is_called(release: str) -> None:
    found = load(rendered(HELMS[0], KAFKA, PUBLIC, SERVED, TRAINED, {"apiVersionsCheck": False}, release=release))
    assert LONGEST.keys() <= {each["kind"] for each in found}
    for each in found:
        name = each["metadata"]["name"]
        assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", name), name
        assert len(name) <= LONGEST.get(each["kind"], 63), name
