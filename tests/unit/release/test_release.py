"""Checks what a release consists of and what keeps it back."""

import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.release import bundle, chart, readiness
from tests.chart.render import HELMS, helm, load
from tests.workflows import linter

CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 0.3.0\n\n### Added\n- A thing.\n\n## 0.2.0\n\n- Older.\n"
DIGEST = "sha256:" + "1a" * 32
PINNED = {
    "global": {"imageRegistry": "registry.example.com/team"},
    "images": {name: {"digest": DIGEST} for name in ("workers", "executor", "model")},
}


def test_the_files_of_this_checkout_have_one_version() -> None:
    assert set(readiness.versions().values()) == {readiness.version()}


def test_a_version_is_released_when_all_files_and_the_changelog_have_it() -> None:
    assert readiness.obstacles("0.3.0", {"pyproject.toml": "0.3.0", "Chart.yaml": "0.3.0"}, CHANGELOG) == []
    assert readiness.changes("0.3.0", CHANGELOG) == "### Added\n- A thing."


def test_what_keeps_a_version_back_is_listed_whole() -> None:
    changed = CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n- New.\n")
    assert readiness.obstacles("0.4.0", {"pyproject.toml": "0.3.0", "Chart.yaml": "0.4.0"}, changed) == [
        "pyproject.toml has 0.3.0",
        "CHANGELOG.md has no section '## 0.4.0'",
        "CHANGELOG.md lists changes under '## Unreleased': they belong to '## 0.4.0'",
    ]


def test_the_notes_of_a_release_have_the_command_for_where_the_workflow_pushes_the_chart() -> None:
    workflow = (readiness.ROOT / ".github/workflows/release.yml").read_text("utf-8")
    assert 'helm push "dist/soliloquy-${GITHUB_REF_NAME#v}.tgz" "oci://$REGISTRY/charts"' in workflow
    told = readiness.installing("0.3.0", "ghcr.io/team")
    assert "helm install grow oci://ghcr.io/team/charts/soliloquy --version 0.3.0 " in told


@pytest.mark.parametrize("program", HELMS)
def test_the_released_chart_installs_the_pushed_images_by_digest(program: str, tmp_path: Path) -> None:
    packed = tmp_path / "soliloquy.tgz"
    chart.pack(PINNED, packed)
    settings = [
        "--set=kafka.bootstrap=kafka:9092",
        "--set=apiVersionsCheck=false",
        "--set=training.cronJob.enabled=true",
    ]
    settings += ["--set=training.args={--base,/models/base,--name=$(JOB_NAME)}"]
    found = load(helm(program, "template", "lab", str(packed), *settings))
    images = {line.split()[-1] for line in yaml.safe_dump_all(found).splitlines() if " image: " in f" {line}"}
    assert images == {
        f"registry.example.com/team/soliloquy/{name}@{DIGEST}" for name in ("workers", "executor", "model")
    }


def test_the_released_chart_is_the_chart_and_the_same_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first.tgz", tmp_path / "second.tgz"
    chart.pack(PINNED, first)
    chart.pack(PINNED, second)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as archive:
        names = {name.removeprefix("soliloquy/") for name in archive.getnames()}
    assert names == {str(path.relative_to(chart.CHART)) for path in chart.CHART.rglob("*") if path.is_file()}


def test_values_in_which_no_image_can_be_pinned_are_refused() -> None:
    values = (
        (chart.CHART / "values.yaml").read_text("utf-8").replace("  executor: {repository", "  executor: { repository")
    )
    with pytest.raises(SystemExit, match=r"soliloquy/executor.* in which a release pins an image"):
        chart.pinned_values(values, PINNED)


def test_checksums_tell_a_changed_file(tmp_path: Path) -> None:
    file = tmp_path / "images" / "layer"
    file.parent.mkdir()
    file.write_text("right", "utf-8")
    bundle.write_checksums(tmp_path, [file])
    check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    file.write_text("wrong", "utf-8")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1


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
