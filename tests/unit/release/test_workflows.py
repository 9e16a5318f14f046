"""Checks GitHub's workflows, which cannot run here."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workflows import linter

WORKFLOWS = Path(__file__).parents[3] / ".github/workflows"
FILES = sorted(WORKFLOWS.glob("*.yml"))
RELEASE: dict[str, Any] = yaml.safe_load((WORKFLOWS / "release.yml").read_text("utf-8"))


@pytest.mark.timeout(600)  # the first time, the linter is compiled
def test_the_linter_has_nothing_to_say() -> None:
    done = subprocess.run([linter.program(), *FILES], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_action_of_others_is_held_to_a_commit_and_says_its_version(file: Path) -> None:
    for line in re.findall(r"uses: (.+)$", file.read_text("utf-8"), re.MULTILINE):
        assert line.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", line), line


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_job_may_read_the_checkout_and_nothing_else_unless_it_says_so(file: Path) -> None:
    assert yaml.safe_load(file.read_text("utf-8"))["permissions"] == {"contents": "read"}


def test_nothing_is_published_before_the_tests_have_passed() -> None:
    jobs = RELEASE["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/ci.yml"
    assert (jobs["release"]["needs"], jobs["python"]["needs"]) == ("test", "release")


def test_every_image_and_the_chart_are_signed_by_digest() -> None:
    images, charts = (
        step["run"] for step in RELEASE["jobs"]["release"]["steps"] if "cosign sign" in step.get("run", "")
    )
    assert "length == 3" in images
    assert '"@" + .value.digest' in images
    assert 'soliloquy@$digest"' in charts
