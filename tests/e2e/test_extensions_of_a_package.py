"""A package beside the project adds an export format, an engine and a check, found by the ordinary commands."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.model_load import caller, channel
from soliloquy.dataset.reading import Dataset
from soliloquy.v1.model_pb2 import GenerateRequest, Message
from tests.cases import each_case
from tests.e2e.runs import SOLILOQUY, command, run, said
from tests.e2e.shell import Shell, shell
from tests.e2e.test_recipe_of_a_package import installed, with_package
from tests.integration.model.asking import served
from tests.models import needs_torch
from tests.models.fixtures import base as base

EXAMPLE = Path(__file__).parents[2] / "examples" / "extensions"
# With this seed somebody is praised in some of them.
SEED, CONVERSATIONS = 6, 3


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return with_package(installed(EXAMPLE, tmp_path_factory.mktemp("installed")))


@pytest.fixture(scope="module")
def soliloquy(beside: Mapping[str, str]) -> Iterator[Shell]:
    """The commands where the package is installed."""
    with shell(beside) as commands:
        yield commands


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset from before the package was installed."""
    out = tmp_path_factory.mktemp("grown") / "out"
    assert said(command(out, conversations=CONVERSATIONS, seed=SEED)).returncode == 0
    return out


def test_its_format_is_in_the_help_and_comes_back_the_same(soliloquy: Shell, grown: Path, tmp_path: Path) -> None:
    assert "a question and pairs of messages" in soliloquy.says("export", "--help")
    out, again = tmp_path / "rows.jsonl", tmp_path / "again.jsonl"
    soliloquy.says("export", grown, "--format", "pairs", "--out", out)
    soliloquy.says("import", out, "--format", "pairs", "--out", tmp_path / "imported")
    soliloquy.says("export", tmp_path / "imported", "--format", "pairs", "--out", again)
    assert len(again.read_text("utf-8").splitlines()) == CONVERSATIONS
    assert again.read_bytes() == out.read_bytes()


def test_its_check_finds_faults_and_rejects_conversations(soliloquy: Shell, grown: Path, tmp_path: Path) -> None:
    assert said([SOLILOQUY, "check", str(grown)]).returncode == 0
    found = soliloquy.run("check", grown, "--json")
    report = json.loads(found.stdout)
    assert found.returncode == 1
    assert report["rules"] == {"praise": len(report["faults"])}
    assert "the tutor says '" in report["faults"][0]["fault"]

    out = tmp_path / "out"
    soliloquy.says(*command(out, conversations=CONVERSATIONS, seed=SEED)[1:])
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest["run"]["checks"] == ["praise"]
    [rejected] = Dataset(out).batches(["reasons"], rejected=True)
    assert any(one.startswith("praise: turn ") for reasons in rejected["reasons"].to_pylist() for one in reasons)
    soliloquy.says("check", out)


def test_its_engine_is_one_of_the_model_service(soliloquy: Shell) -> None:
    assert "echo" in soliloquy.says("model", "serve", "--help")
    # It loads, and wants weights as the others do.
    refused = soliloquy.run("model", "serve", "--engine", "echo")
    assert (refused.returncode, refused.stderr) == (2, "soliloquy: --engine echo requires --model\n")


@needs_torch
@pytest.mark.thorough
def test_its_engine_answers_in_the_model_service(beside: Mapping[str, str], base: Path) -> None:
    async def answer(port: int) -> tuple[str, str]:
        async with channel(port) as opened:
            done = await caller(opened)(GenerateRequest(messages=[Message(role="user", text="Why does it fall?")]))
            return done.engine, done.text

    with served(base, replicas=1, engine="echo", environment=beside) as (port, _):
        engine, text = asyncio.run(answer(port))
    assert engine == "echo"
    assert "Why does it fall?" in text


@each_case
def test_a_broken_entry_is_one_line_that_names_it(group: str, line: str, arguments: list[str], tmp_path: Path) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[soliloquy.{group}]\nbroken = nowhere:FORMAT\n", "utf-8")
    done = run([SOLILOQUY, *arguments], environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode != 0
    [told] = done.stderr.splitlines()
    assert told.startswith(f"soliloquy: {line}")
    assert told.endswith("correct or uninstall it")
