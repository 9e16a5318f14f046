"""Checks the examples for Argo CD, Flux and Kueue: their operators' definitions, and values that the chart takes."""

from pathlib import Path

import pytest

from tests.chart.render import HELMS, Document, Values, load, rendered
from tests.chart.schemas import faults
from tests.unit.chart.objects import IMAGES, TRAINED, kinds, named, objects

FOLDER = Path(__file__).parents[3] / "deploy/examples"


def documents(name: str) -> list[Document]:
    return load((FOLDER / f"{name}.yaml").read_bytes())


@pytest.mark.parametrize("name", ["argo-cd", "flux", "kueue"])
def test_an_example_is_one_that_its_operator_takes(name: str) -> None:
    # No registry has the definition of a HelmRelease.
    known = [document for document in documents(name) if document["kind"] != "HelmRelease"]
    assert [fault for document in known for fault in faults(document, [])] == []


def test_the_chart_takes_the_values_of_both_ways_to_deploy_from_git() -> None:
    [application] = documents("argo-cd")
    flux = named(documents("flux"), "HelmRelease")
    values: list[Values] = [application["spec"]["source"]["helm"]["valuesObject"], flux["spec"]["values"]]
    for chosen in values:
        # A released chart names its registry.
        found = load(rendered(HELMS[0], IMAGES, chosen))
        assert kinds(found, "DaemonSet").keys() == {"installer"}


def test_every_training_waits_in_the_queue_of_the_example() -> None:
    label = {"kueue.x-k8s.io/queue-name": named(documents("kueue"), "LocalQueue")["metadata"]["name"]}
    found = objects(TRAINED, {"training": {"jobLabels": label}})
    job = named(found, "CronJob")["spec"]["jobTemplate"]
    assert label.items() <= named(found, "RayJob")["metadata"]["labels"].items()
    assert job["metadata"]["labels"] == label
