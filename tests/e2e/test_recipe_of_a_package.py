"""A recipe in a package of somebody else's: installed beside the project, it does what our recipes do."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings
from tests.e2e.runs import SOLILOQUY, command, dataset, run
from tests.e2e.services import serving
from tests.models import needs_torch

EXAMPLE = Path(__file__).parents[2] / "examples" / "recipe"


def installed(package: Path, folder: Path) -> Path:
    """Builds the wheel of a package and returns the folder where it is installed."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder / "wheels", package], check=True)
    [wheel] = (folder / "wheels").glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True)
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(EXAMPLE, tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def beside(site: Path) -> Mapping[str, str]:
    return {"PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


@pytest.fixture(scope="module")
def problems(site: Path) -> Path:
    return site / "socratic_debugging" / "problems.jsonl"


@pytest.fixture(scope="module")
def grown(beside: Mapping[str, str], problems: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("debugging") / "out"
    done = run(command(out, conversations=4, problems=problems, recipe="debugging"), environment=beside)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["accepted"], report["failed"], report["verdicts"]["contradict"]) == (4, 0, 0)
    assert report["python_turns"] == report["turns"], "the program runs before each reply"
    return out


def said(environment: Mapping[str, str], *arguments: object) -> str:
    done = run([SOLILOQUY, *map(str, arguments)], environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_dataset_is_verified_checked_shown_and_reported(
    grown: Path, beside: Mapping[str, str], tmp_path: Path
) -> None:
    assert "matches manifest.json" in said(beside, "verify", grown)
    assert json.loads(said(beside, "check", grown, "--json"))["codes"]["points at"]
    shown = " ".join(said(beside, "show", grown).split())
    assert "points at" in shown
    assert "to show: wrong change" in shown
    assert "[system]" in said(beside, "show", grown, "--prompts")
    page = tmp_path / "report.html"
    said(beside, "report", grown, "--out", page)
    card = (grown / "README.md").read_text("utf-8")
    for heading in ("Beside our plan", "response | a a change that does not help"):
        assert heading in card


def test_the_console_draws_its_labels_and_its_records_have_them(grown: Path, beside: Mapping[str, str]) -> None:
    code = """
import json, sys
from soliloquy.client import Dataset
from soliloquy.dataset.view import conversation_view
from soliloquy.recipes import find
for one in Dataset(sys.argv[1]):
    recipe = find("debugging")
    assert recipe.record(one)["turns"][0]["tutor"]["points_at"]
    print(json.dumps([turn["labels"] for turn in conversation_view(one)["turns"]]))
"""
    done = run([sys.executable, "-c", code, str(grown)], environment=beside)
    assert done.returncode == 0, done.stderr
    [labels, *_] = json.loads(done.stdout.splitlines()[0])
    assert labels["points at"]


@pytest.mark.parametrize("name", ["debugging", "openai"])
def test_it_is_exported_and_its_own_format_comes_back_the_same(
    name: str, grown: Path, beside: Mapping[str, str], tmp_path: Path
) -> None:
    out, again = tmp_path / "rows.jsonl", tmp_path / "again.jsonl"
    said(beside, "export", grown, "--format", name, "--out", out)
    assert len(out.read_text("utf-8").splitlines()) == 4
    if name == "debugging":
        said(beside, "import", out, "--format", name, "--out", tmp_path / "imported")
        said(beside, "export", tmp_path / "imported", "--format", name, "--out", again)
        assert again.read_bytes() == out.read_bytes()


def test_its_evaluation_is_a_command(beside: Mapping[str, str], problems: Path, tmp_path: Path) -> None:
    assert "debugging" in said(beside, "evaluate", "--help")
    options = ["--problems", problems, "--cases", 2, "--out", tmp_path / "evaluated", "--json"]
    report = json.loads(said(beside, "evaluate", "debugging", *options))
    assert report["figures"]["metrics"]["found"]["share"] == 1


@needs_torch
def test_a_model_is_tuned_on_it(grown: Path, beside: Mapping[str, str], tmp_path: Path) -> None:
    from benchmarks.random_weights import make_base

    base = make_base(tmp_path / "nano", "nano")
    options = ["--base", base, "--data", grown, "--name", "one", "--out", tmp_path, "--json"]
    report = json.loads(said(beside, "train", "--config", "debugging", *options))
    assert report["steps"] > 0


def test_the_services_of_a_kafka_grow_the_same_dataset(
    kafka: str, grown: Path, beside: Mapping[str, str], problems: Path, tmp_path: Path
) -> None:
    connection = KafkaSettings(bootstrap=kafka, prefix=f"test-{uuid.uuid4().hex[:8]}.")
    out = tmp_path / "kafka"
    place = {"kafka": kafka, "kafka_prefix": connection.prefix}
    with serving(connection, tmp_path / "live", environment=beside):
        done = run(command(out, conversations=4, problems=problems, recipe="debugging", **place), environment=beside)
    assert done.returncode == 0, done.stderr
    assert dataset(out) == dataset(grown)


def test_a_new_recipe_runs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "generate --recipe loops" in said({}, "recipes", "new", "loops")
    texts = [path.read_text("utf-8") for path in (tmp_path / "loops").rglob("*") if path.is_file()]
    assert not any("socratic_debugging" in text for text in texts)

    beside = {"PYTHONPATH": str(installed(tmp_path / "loops", tmp_path))}
    assert "loops_recipe" in said(beside, "recipes", "list")
    problems = tmp_path / "loops" / "loops_recipe" / "problems.jsonl"
    done = run(command(tmp_path / "out", conversations=1, problems=problems, recipe="loops"), environment=beside)
    assert done.returncode == 0, done.stderr
    said(beside, "export", tmp_path / "out", "--format", "loops", "--out", tmp_path / "rows.jsonl")


def test_without_its_package_a_dataset_is_read_in_the_fields_that_every_recipe_has(grown: Path, tmp_path: Path) -> None:
    assert "matches manifest.json" in said({}, "verify", grown)
    shown = said({}, "show", grown)
    assert "recipe debugging: not installed, so its labels are not shown" in shown
    assert "is_right = True" in shown
    said({}, "tail", grown)
    said({}, "report", grown, "--out", tmp_path / "report.html")
    said({}, "export", grown, "--format", "openai", "--out", tmp_path / "rows.jsonl")
    for missing in (["check", grown], ["show", grown, "--prompts"], ["export", grown, "--format", "debugging"]):
        done = run([SOLILOQUY, *map(str, missing)])
        assert done.returncode != 0
        assert len(done.stderr.splitlines()) == 1
