"""The whole loop on weights: random ones, which hold to the shapes that the recipe asks for and to nothing else."""

import json
from pathlib import Path

import pytest

from services.cli.generate import INCOMPLETE
from tests.e2e.runs import command, run
from tests.models import needs_torch

pytestmark = [
    needs_torch,
    # Ray and the weights start first.
    pytest.mark.timeout(240),
]


def test_random_weights_give_turns_of_the_right_shape_and_the_manifest_names_their_engine(
    replicas: tuple[int, int], tmp_path: Path
) -> None:
    grpc, http = (f"127.0.0.1:{port}" for port in replicas)
    ways = {"ray": {"model_address": grpc}, "openai": {"base_url": f"http://{http}/v1", "model_name": "tiny"}}
    for model, way in ways.items():
        out = tmp_path / model
        grown = run(command(out, conversations=1, model=model, max_turns=3, max_attempts=2, **way))
        # Nothing that they say is true, so no problem is accepted, nor the one in its place; every answer can be read.
        assert grown.returncode == INCOMPLETE, grown.stderr
        report = json.loads(grown.stdout)
        assert (report["accepted"], report["rejected"]) == (0, 4)
        assert report["turns"] >= 4
        assert "failed" not in report["parse"], report["parse"]
        models = json.loads((out / "manifest.json").read_bytes())["counts"]["models"]
        assert {(entry["engine"], entry["model"]) for entry in models} == {
            "ray": {("transformers", "tiny")},
            "openai": {("openai", "tiny")},
        }[model]
