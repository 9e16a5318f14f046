"""Checks the file that says what is built, and how it is read where there is no docker."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deploy.images import bake
from tests.cases import each_case
from tests.images.dockerfile import FILE, stages
from tests.unit.images.test_dockerfile import IMAGES, ROOT

TEXT = bake.FILE.read_text("utf-8")
PINNED = re.compile(r"^docker\.io/library/[a-z]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}$")


def test_every_image_of_the_chart_is_built_and_nothing_else() -> None:
    assert tuple(bake.targets(TEXT, {})) == IMAGES
    assert {image.target for image in bake.targets(TEXT, {}).values()} <= set(stages(FILE.read_text("utf-8")))


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_is_built_on_bases_that_cannot_change(image: str) -> None:
    arguments = bake.targets(TEXT, {})[image].args
    assert PINNED.match(arguments["BASE"])
    assert PINNED.match(arguments["GO"])
    assert not re.search(r"^ARG (BASE|GO)=", FILE.read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_has_the_version_of_the_package(image: str) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    found = bake.targets(TEXT, {"REGISTRY": "registry.example.com/team"})[image]
    assert found.args["VERSION"] == version
    assert found.tags == [f"registry.example.com/team/soliloquy/{image}:{version}"]


def test_the_executor_is_built_where_its_policy_knows_the_system_calls() -> None:
    policy = tomllib.loads((ROOT / "services/executor/policy.toml").read_text("utf-8"))
    names = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}
    assert bake.targets(TEXT, {})["executor"].platforms == [names[machine] for machine in policy["denied"]]


def test_a_target_overrides_what_it_inherits_and_adds_arguments() -> None:
    told: dict[str, Any] = json.loads(TEXT)
    told["target"]["workers"] |= {"dockerfile": "other", "args": {"EXTRA": "${VERSION}-x", "BASE": "own"}}
    found = bake.targets(json.dumps(told), {"VERSION": "9"})["workers"]
    assert found.dockerfile == "other"
    assert (found.args["EXTRA"], found.args["BASE"], found.args["VERSION"]) == ("9-x", "own", "9")


@each_case
def test_a_build_that_cannot_be_says_why(words: list[str], told: str, tmp_path: Path) -> None:
    (tmp_path / "git").symlink_to(shutil.which("git") or "")
    command = [sys.executable, "-m", "deploy.images", *words]
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (1, told)
