"""Checks that docker's buildx reads docker-bake.json as `make images` does for buildah."""

import json
import os
import subprocess
from dataclasses import asdict

import pytest

from deploy.images import bake
from tests.cluster import binaries
from tests.images.built import ROOT

pytestmark = pytest.mark.timeout(3600)
OVERRIDDEN = {"REGISTRY": "registry.example.com/team", "VERSION": "9.9.9", "BASE": "own@sha256:1", "REVISION": "abc"}


@pytest.mark.parametrize("environment", [{}, OVERRIDDEN], ids=["as it is", "overridden"])
def test_buildx_reads_the_same_images_from_the_bake_file(environment: dict[str, str]) -> None:
    command = [str(binaries.buildx()), "bake", f"--file={bake.FILE}", "--print"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    ours = bake.targets(bake.FILE.read_text("utf-8"), environment)
    assert told["group"]["default"]["targets"] == sorted(ours)
    assert told["target"] == {name: asdict(target) for name, target in ours.items()}
