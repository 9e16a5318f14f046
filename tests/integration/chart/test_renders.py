"""Renders the choices of the values with real Helm, and validates them for Kubernetes and its operators."""

import functools
import json
import re
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.chart import crds, restricted, schemas
from tests.chart.render import (
    CHART,
    HELMS,
    KUBERNETES,
    Document,
    Values,
    choices,
    combinations,
    lint,
    load,
    rendered,
    values_of,
)

# Minutes while other tests keep the cores busy.
pytestmark = pytest.mark.timeout(600)
# Helm 3 renders each fourth combination, since both versions share their engine of templates.
_EACH = 4


@functools.cache
def chosen() -> list[int]:
    """Returns numbers of combinations that take each choice at least once."""
    left = {choice for combination in combinations() for choice in combination.items()}
    numbers = []
    while left:
        number = max(range(len(combinations())), key=lambda one: len(left & combinations()[one].items()))
        left -= combinations()[number].items()
        numbers.append(number)
    return numbers


@functools.cache
def renders() -> list[str]:
    """Returns each of these with a Kubernetes version that may run it."""
    return rendered_each(chosen())


def rendered_each(numbers: Iterable[int]) -> list[str]:
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(functools.partial(_render, "helm4"), numbers))


def _render(program: str, number: int) -> str:
    kubernetes = KUBERNETES[number % len(KUBERNETES)]
    return rendered(program, *values_of(combinations()[number]), kubernetes=kubernetes)


@functools.cache
def releases() -> list[list[Document]]:
    return [load(text) for text in renders()]


@functools.cache
def documents() -> list[Document]:
    """Returns the distinct documents of all renders; most occur many times."""
    parsed = (document for release in releases() for document in release)
    return list({json.dumps(document, sort_keys=True): document for document in parsed}.values())


@pytest.mark.thorough
def test_kubernetes_and_the_operators_take_every_two_choices() -> None:
    texts = rendered_each(range(len(combinations())))
    assert all("kind: Deployment" in text for text in texts)
    assert faults(document for text in texts for document in load(text)) == set()


def test_every_template_is_rendered() -> None:
    """NOTES.txt and the template that completes values produce no document."""
    named = {match for text in renders() for match in re.findall(r"^# Source: soliloquy/(.*)$", text, re.M)}
    templates = {str(path.relative_to(CHART)) for path in CHART.glob("templates/**/[!_]*.yaml")}
    assert named == templates - {"templates/values/whole.yaml"}


def test_helm_3_and_4_render_the_same() -> None:
    for number, text in list(zip(chosen(), renders(), strict=True))[::_EACH]:
        assert _render("helm3", number) == text


def test_a_second_render_is_the_same_to_the_byte() -> None:
    assert _render("helm4", chosen()[1]) == renders()[1]


def test_an_upgrade_renders_what_an_install_did() -> None:
    values = values_of(combinations()[1])
    assert rendered("helm4", *values, upgrade=True) == rendered("helm4", *values)


def test_kubernetes_and_the_operators_take_every_document() -> None:
    assert faults(documents()) == set()


def faults(documents: Iterable[Document]) -> set[str]:
    distinct = {json.dumps(document, sort_keys=True): document for document in documents}
    return {
        f"{document['kind']} {document['metadata']['name']}: {fault}"
        for document in distinct.values()
        for fault in schemas.faults(document, (KUBERNETES[0], KUBERNETES[-1]))
    }


def test_every_kind_of_the_operators_is_rendered_or_an_example() -> None:
    """Checks that every fetched definition is used, and every operator's object is validated."""
    examples = load("---\n".join(file.read_text("utf-8") for file in (CHART.parents[1] / "examples").glob("*.yaml")))
    seen = {document["kind"] for document in (*documents(), *examples)}
    assert {crd["spec"]["names"]["kind"] for crd in crds.definitions()} <= seen


def test_every_pod_but_the_installer_is_restricted() -> None:
    pods = [
        (document, pod)
        for document in documents()
        for pod in restricted.pods(document)
        if document["metadata"]["labels"]["app.kubernetes.io/component"] != "installer"
    ]
    assert len(pods) > len(chosen())
    found = {
        f"{document['kind']} {document['metadata']['name']}: {fault}"
        for document, pod in pods
        for fault in restricted.faults(pod)
    }
    assert found == set()


def test_no_container_can_write_to_its_root_or_holds_a_token() -> None:
    """Checks what the standard leaves open. Only Ray's autoscaler has a token, from a volume of its own."""
    for document in documents():
        for pod in restricted.pods(document):
            assert pod["automountServiceAccountToken"] is False, document["metadata"]["name"]
            for container in pod["containers"] + pod.get("initContainers", []):
                assert container["securityContext"]["readOnlyRootFilesystem"] is True, container["name"]
                assert "limits" in container["resources"], container["name"]


def test_no_two_objects_of_a_release_share_a_name() -> None:
    for release in releases():
        named = Counter((one["apiVersion"], one["kind"], one["metadata"]["name"]) for one in release)
        assert [name for name, times in named.items() if times > 1] == []


def test_every_switch_is_taken_both_ways() -> None:
    """A toggle that choices.yaml lacks would be rendered one way only."""
    defaults = load((CHART / "values.yaml").read_bytes())[0]
    seen: dict[str, set[bool]] = {name: {value} for name, value in switches(defaults).items()}
    for levels in choices().values():
        for values in levels.values():
            for name, value in switches(values).items():
                seen.setdefault(name, set()).add(value)
    assert {name for name, values in seen.items() if len(values) == 1} <= TAKEN_ONE_WAY


# Neither renders anything.
TAKEN_ONE_WAY = {"apiVersionsCheck", "topics.grow"}


def switches(values: Values, above: str = "") -> dict[str, bool]:
    found: dict[str, bool] = {}
    for name, value in values.items():
        path: Any = f"{above}{name}"
        if isinstance(value, bool):
            found[path] = value
        elif isinstance(value, dict):
            found |= switches(value, f"{path}.")
    return found


@pytest.mark.parametrize("program", HELMS)
def test_lint_has_nothing_to_say_of_any_profile(program: str) -> None:
    for profile, values in choices()["profile"].items():
        assert "1 chart(s) linted, 0 chart(s) failed" in lint(program, values), profile
