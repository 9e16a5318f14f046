"""The whole loop on random weights, which keep to the recipe's schemas and to nothing else."""

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from soliloquy.cli.generate import INCOMPLETE
from tests.e2e.runs import command, run
from tests.models import needs_torch
from tests.traces.collector import Collector, Span

pytestmark = [
    pytest.mark.thorough,
    needs_torch,
    # Ray and the weights start first.
    pytest.mark.timeout(900),
]

ASKED = {f"model {role}" for role in ("student", "tutor", "codegen", "composer", "reader")}
SERVICE = "model service"
# By which both replicas have been asked.
SCRAPES = 10
SPANS_SECONDS = 120.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SPANS_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def ended(http: str) -> float:
    """Returns the service's count of requests that ended, of all adapters and however they ended."""
    with urllib.request.urlopen(f"http://{http}/metrics/", timeout=10) as response:
        families = text_string_to_metric_families(response.read().decode())
    samples = (sample for family in families for sample in family.samples)
    return sum(one.value for one in samples if one.name == "soliloquy_model_requests_ended_total")


def test_random_weights_give_turns_of_the_right_shape_and_the_manifest_names_their_engine(
    replicas: tuple[int, int], collector: Collector, tmp_path: Path
) -> None:
    """Each answer is in the trace of its conversation, and counted whichever replica gave it or is scraped."""
    grpc, http = (f"127.0.0.1:{port}" for port in replicas)
    ways = {"ray": {"model_address": grpc}, "openai": {"base_url": f"http://{http}/v1", "model_name": "tiny"}}
    for model, way in ways.items():
        out, known, counted = tmp_path / model, set(collector.traces), ended(http)
        way["traces"] = collector.url
        grown = run(command(out, conversations=1, model=model, max_turns=3, max_attempts=1, **way))
        # Nothing that they say is true, so no problem is accepted, nor the one in its place; every answer can be read.
        assert grown.returncode == INCOMPLETE, grown.stderr
        report = json.loads(grown.stdout)
        assert (report["accepted"], report["rejected"]) == (0, 2), grown.stderr
        assert report["turns"] >= 2
        assert "failed" not in report["parse"], report["parse"]
        models = json.loads((out / "manifest.json").read_bytes())["counts"]["models"]
        assert {(entry["engine"], entry["model"]) for entry in models} == {
            "ray": {("transformers", "tiny")},
            "openai": {("openai", "tiny")},
        }[model]
        asked = {span.id for span in _new(collector, known) if span.name in ASKED}
        wait_until(lambda: {span.parent for span in _new(collector, known) if span.name == SERVICE} == asked)  # noqa: B023
        # The endpoint was asked once before the run began.
        assert {ended(http) - counted for _ in range(SCRAPES)} == {len(asked) + 1}


def _new(collector: Collector, known: set[str]) -> list[Span]:
    return [span for span in collector.spans if span.trace not in known]
