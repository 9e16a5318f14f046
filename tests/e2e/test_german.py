"""A dataset in German, generated from a German problem file on an endpoint that answers in German."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from soliloquy.dataset.reading import Dataset
from soliloquy.v1.conversation_pb2 import Ending
from soliloquy_services.model.fake import FakeServer, FakeSettings
from tests.e2e.hosted import fake
from tests.e2e.runs import SOLILOQUY, command, run, said
from tests.unit.languages.speakers import WrittenSpeakers
from tests.unit.languages.test_german_conversations import MISTAKEN, PROBLEM


@contextmanager
def _answering_in_german(recipe: str) -> Iterator[str]:
    loop, served = asyncio.new_event_loop(), FakeServer(WrittenSpeakers(recipe), FakeSettings()).serving("127.0.0.1:0")
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(served.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(served.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    path = tmp_path / "aufgaben.jsonl"
    path.write_text(PROBLEM.model_dump_json(exclude_defaults=True) + "\n", "utf-8")
    return path


def test_a_german_problem_file_becomes_a_german_dataset_whose_numbers_are_judged(
    problems: Path, tmp_path: Path
) -> None:
    prompts, out = tmp_path / "prompts", tmp_path / "dataset"
    assert (
        said([SOLILOQUY, "recipes", "prompts", "soliloquy", "--language", "de", "--out", str(prompts)]).returncode == 0
    )
    (prompts / "learners.toml").write_text(MISTAKEN, "utf-8")
    with _answering_in_german("soliloquy") as url:
        options = {"model": "openai", "base_url": url, "language": "de", "prompts": str(prompts)}
        ended = run(command(out, conversations=1, problems=problems, **options))
    assert ended.returncode == 0, ended.stderr
    dataset = Dataset(out)
    [conversation] = dataset
    assert (conversation.run.language, conversation.problem.language) == ("de", "de")
    assert conversation.problem.question == PROBLEM.question
    assert any("83,5 km" in turn.student.text for turn in conversation.turns)
    assert dataset.manifest["run"]["language"] == "de"
    assert said([SOLILOQUY, "report", str(out)]).returncode == 0
    assert (out / "README.md").read_text("utf-8").splitlines()[1] == "language: de"
    checked = json.loads(said([SOLILOQUY, "check", str(out), "--json"]).stdout)
    figures = checked["figures"]
    # Two of four answers are wrong, and stored rows are read in their language.
    assert (figures["faults"], figures["unverified"], figures["realised_error_rate"]) == (0, 0, 0.5), checked


def test_the_stand_ins_endpoint_ends_a_german_run_before_it_mixes_in_english(problems: Path, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    with fake() as url:
        ended = run(command(out, conversations=1, problems=problems, model="openai", base_url=url, language="de"))
    assert ended.returncode == 1
    assert "the scripted model speaks English alone, not de: ask another model" in ended.stderr.splitlines()[-1]
    assert not [*out.glob("accepted/*")]


@pytest.mark.thorough
@pytest.mark.parametrize("recipe", ["mathdial", "scaffold"])
def test_each_recipe_generates_german_conversations_on_an_endpoint(recipe: str, problems: Path, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    with _answering_in_german(recipe) as url:
        options = {"model": "openai", "base_url": url, "language": "de", "recipe": recipe}
        ended = run(command(out, conversations=4, problems=problems, **options))
    assert ended.returncode == 0, ended.stderr
    conversations = [*Dataset(out)]
    assert any(one.ending == Ending.ENDING_SOLVED for one in conversations)
    assert {one.problem.language for one in conversations} == {"de"}
    assert "247,5 km" in "".join(turn.student.text for one in conversations for turn in one.turns)
    assert said([SOLILOQUY, "check", str(out)]).returncode == 0


def test_who_cannot_speak_german_says_what_to_do(problems: Path, tmp_path: Path) -> None:
    for options, advice in (
        ({"problems": problems}, "the scripted model speaks English"),
        ({"problems": "physics", "model": "openai", "base_url": "http://127.0.0.1:9/v1"}, "are English: use a file"),
        ({"problems": problems, "recipe": "mathwell"}, "there are no prompts of mathwell in the language de"),
    ):
        ended = said(command(tmp_path / "out", conversations=1, language="de", **options))
        assert ended.returncode, ended.stdout
        assert advice in ended.stderr
