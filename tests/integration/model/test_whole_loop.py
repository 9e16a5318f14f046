"""The whole loop on weights: random ones, which hold to the shapes that the recipe asks for and to nothing else."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from services.cli.generate import INCOMPLETE
from tests.e2e.runs import SOLILOQUY, command, run
from tests.models import needs_torch

pytestmark = [
    needs_torch,
    # Ray and the weights start first.
    pytest.mark.timeout(240),
]


@pytest.fixture(scope="module")
def served(base: Path) -> Iterator[tuple[str, str]]:
    """Where `soliloquy model serve` answers: over gRPC and over HTTP."""
    serve = [SOLILOQUY, "model", "serve", "--engine", "transformers", "--model", str(base)]
    with Popen([*serve, "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"], stdout=PIPE, text=True) as process:
        assert process.stdout
        try:
            grpc, http = re.findall(r"127\.0\.0\.1:\d+", process.stdout.readline())
            yield grpc, f"http://{http}/v1"
        finally:
            process.terminate()


def test_random_weights_give_turns_of_the_right_shape_and_the_manifest_names_their_engine(
    served: tuple[str, str], tmp_path: Path
) -> None:
    grpc, http = served
    ways = {"ray": {"model_address": grpc}, "openai": {"base_url": http, "model_name": "tiny"}}
    for model, way in ways.items():
        out = tmp_path / model
        grown = run(command(out, conversations=2, model=model, max_turns=3, max_attempts=2, **way))
        # Nothing that they say is true, so nothing is accepted; every answer can be read.
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
