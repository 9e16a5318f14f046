"""Renders the chart with Helm, by the choices of choices.yaml."""

import functools
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.chart import tools
from tests.chart.pairwise import pairwise

Document = dict[str, Any]
Values = dict[str, Any]

CHART = Path(__file__).parents[2] / "deploy/helm/soliloquy"
HELMS = ("helm3", "helm4")
KUBERNETES = ("1.31", "1.32", "1.33", "1.34", "1.35")
# There is no cluster whose APIs could be listed.
_OFFLINE: Values = {"apiVersionsCheck": False, "global": {"imageRegistry": "registry.example.com"}}


class Refused(Exception):
    """Helm's error message."""


@functools.cache
def choices() -> dict[str, dict[str, Values]]:
    profiles = {path.stem.removeprefix("values-"): load(path.read_bytes())[0] for path in CHART.glob("values-*.yaml")}
    others: dict[str, dict[str, Values]] = load(Path(__file__).with_name("choices.yaml").read_bytes())[0]
    return {"profile": {"none": {}} | dict(sorted(profiles.items()))} | others


@functools.cache
def combinations() -> list[dict[str, str]]:
    return pairwise({choice: list(levels) for choice, levels in choices().items()})


def values_of(combination: dict[str, str]) -> list[Values]:
    return [_OFFLINE, *(choices()[choice][level] for choice, level in combination.items())]


def helm(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [tools.folder() / "bin" / program, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != 0:
        raise Refused((done.stderr or done.stdout).strip())
    return done.stdout


def rendered(
    program: str,
    *values: Values,
    kubernetes: str = KUBERNETES[-1],
    release: str = "lab",
    upgrade: bool = False,
    api: str = "",
) -> str:
    """Renders all manifests, hooks and tests included, for a cluster that has the API."""
    flags = [f"--kube-version={kubernetes}", "--namespace=tutoring", *(["--is-upgrade"] if upgrade else [])]
    flags += [f"--api-versions={api}"] if api else []
    with _files(values) as files:
        return helm(program, "template", release, str(CHART), *flags, *files)


def notes(*values: Values) -> str:
    """Returns the notes that Helm prints after an install; Helm 3 needs a cluster for them."""
    with _files(values) as files:
        said = helm("helm4", "install", "lab", str(CHART), "--dry-run=client", "--namespace=tutoring", *files)
    return said.partition("\nNOTES:\n")[2]


def lint(program: str, *values: Values) -> str:
    with _files(values) as files:
        return helm(program, "lint", "--strict", str(CHART), *files)


@contextmanager
def _files(values: Sequence[Values]) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        for number, chosen in enumerate(values):
            Path(folder, f"{number}.yaml").write_text(yaml.safe_dump(chosen), "utf-8")
        yield [f"--values={folder}/{number}.yaml" for number in range(len(values))]


def load(text: str | bytes) -> list[Document]:
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]
