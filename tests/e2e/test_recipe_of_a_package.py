"""A recipe in a package of somebody else's: installed beside the project, it does what our recipes do."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from soliloquy.runtime.transports.kafka import KafkaSettings
from tests.e2e.runs import SOLILOQUY, command, dataset, run
from tests.e2e.services import serving
from tests.e2e.shell import Shell, shell
from tests.models import needs_torch

EXAMPLE = Path(__file__).parents[2] / "examples" / "recipe"


def installed(package: Path, folder: Path) -> Path:
    """Builds the wheel of a package and returns the folder where it is installed."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder / "wheels")]
    subprocess.run(build, cwd=package, check=True, capture_output=True)
    [wheel] = (folder / "wheels").glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(EXAMPLE, tmp_path_factory.mktemp("installed"))


def with_package(site: Path) -> Mapping[str, str]:
    return {"PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


@pytest.fixture(scope="module")
def beside(site: Path) -> Mapping[str, str]:
    return with_package(site)


@pytest.fixture(scope="module")
def soliloquy(beside: Mapping[str, str]) -> Iterator[Shell]:
    """The commands where the package is installed."""
    with shell(beside) as commands:
        yield commands


@pytest.fixture(scope="module")
def problems(site: Path) -> Path:
    return site / "socratic_debugging" / "problems.jsonl"


def generate(out: Path, problems: Path, recipe: str, conversations: int, **options: str) -> list[str]:
    # A seed with which no student says the same twice.
    return command(out, conversations=conversations, problems=problems, recipe=recipe, seed=3, **options)[1:]


@pytest.fixture(scope="module")
def grown(soliloquy: Shell, problems: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("debugging") / "out"
    report = json.loads(soliloquy.says(*generate(out, problems, "debugging", conversations=2)))
    assert (report["accepted"], report["rejected"], report["failed"]) == (2, 0, 0)
    assert report["verdicts"]["contradict"] == 0
    assert report["python_turns"] == report["turns"], "the program runs before each reply"
    return out


def test_its_dataset_is_verified_checked_shown_and_reported(grown: Path, soliloquy: Shell, tmp_path: Path) -> None:
    assert "conversations, each once" in soliloquy.says("verify", grown)
    assert json.loads(soliloquy.says("check", grown, "--json"))["codes"]["points at"]
    shown = " ".join(soliloquy.says("show", grown).split())
    assert "points at" in shown
    assert "(to change: line 4)" in shown
    assert "[system]" in soliloquy.says("show", grown, "--prompts")
    page = tmp_path / "report.html"
    soliloquy.says("report", grown, "--out", page)
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
    for number, prompt in recipe.prompts(one):
        assert one.turns[number - 1].tutor.text not in str(prompt), "no prompt holds the reply to it"
    print(json.dumps([turn["labels"] for turn in conversation_view(one)["turns"]]))
"""
    done = run([sys.executable, "-c", code, str(grown)], environment=beside)
    assert done.returncode == 0, done.stderr
    [labels, *_] = json.loads(done.stdout.splitlines()[0])
    assert labels["points at"]


def test_its_own_format_comes_back_the_same(grown: Path, soliloquy: Shell, tmp_path: Path) -> None:
    out, again = tmp_path / "rows.jsonl", tmp_path / "again.jsonl"
    soliloquy.says("export", grown, "--format", "debugging", "--out", out)
    assert len(out.read_text("utf-8").splitlines()) == 2
    soliloquy.says("import", out, "--format", "debugging", "--out", tmp_path / "imported")
    soliloquy.says("export", tmp_path / "imported", "--format", "debugging", "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_its_evaluation_is_a_command(soliloquy: Shell, problems: Path, tmp_path: Path) -> None:
    assert "debugging" in soliloquy.says("evaluate", "--help")
    options = ["--problems", problems, "--cases", 2, "--out", tmp_path / "evaluated", "--json"]
    report = json.loads(soliloquy.says("evaluate", "debugging", *options))
    assert report["figures"]["metrics"]["found"]["share"] == 1


@needs_torch
@pytest.mark.thorough
def test_a_model_is_tuned_on_it(grown: Path, beside: Mapping[str, str], tmp_path: Path) -> None:
    from benchmarks.random_weights import make_base

    base = make_base(tmp_path / "nano", "nano")
    options = ["--base", base, "--data", grown, "--name", "one", "--out", tmp_path, "--json"]
    done = run([SOLILOQUY, "train", "--config", "debugging", *map(str, options)], environment=beside)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] > 0


@pytest.mark.thorough
def test_the_services_of_a_kafka_grow_the_same_dataset(
    kafka: str, grown: Path, soliloquy: Shell, beside: Mapping[str, str], problems: Path, tmp_path: Path
) -> None:
    connection = KafkaSettings(bootstrap=kafka, prefix=f"test-{uuid.uuid4().hex[:8]}.")
    out = tmp_path / "kafka"
    place = {"kafka": kafka, "kafka_prefix": connection.prefix}
    with serving(connection, tmp_path / "live", environment=beside):
        soliloquy.says(*generate(out, problems, "debugging", conversations=2, **place))
    assert dataset(out) == dataset(grown)


@pytest.fixture(scope="module")
def without() -> Iterator[Shell]:
    """The commands where the package is not installed."""
    with shell() as commands:
        yield commands


def test_a_new_recipe_runs_at_once(without: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "generate --recipe loops" in without.says("recipes", "new", "loops")
    texts = [path.read_text("utf-8") for path in (tmp_path / "loops").rglob("*") if path.is_file()]
    assert not any("socratic_debugging" in text for text in texts)

    problems = tmp_path / "loops" / "loops_recipe" / "problems.jsonl"
    with shell(with_package(installed(tmp_path / "loops", tmp_path))) as soliloquy:
        assert "loops_recipe" in soliloquy.says("recipes", "list")
        soliloquy.says(*generate(tmp_path / "out", problems, "loops", conversations=1))
        soliloquy.says("export", tmp_path / "out", "--format", "loops", "--out", tmp_path / "rows.jsonl")


def test_without_its_package_a_dataset_is_read_in_the_fields_that_every_recipe_has(
    grown: Path, without: Shell, tmp_path: Path
) -> None:
    assert "conversations, each once" in without.says("verify", grown)
    shown = without.says("show", grown)
    assert "recipe debugging: not installed, so its labels are not shown" in shown
    assert "is_right = True" in shown
    without.says("tail", grown)
    without.says("report", grown, "--out", tmp_path / "report.html")
    without.says("export", grown, "--format", "openai", "--out", tmp_path / "rows.jsonl")
    for missing in (["check", grown], ["show", grown, "--prompts"], ["export", grown, "--format", "debugging"]):
        done = without.run(*missing)
        assert done.returncode != 0
        assert len(done.stderr.splitlines()) == 1
