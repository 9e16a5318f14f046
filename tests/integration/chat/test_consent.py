"""Checks that a consented chat is collected, shown, reported, exported and learned from like any conversation."""

import json
from pathlib import Path

import pytest
import pytest_asyncio
from click.testing import CliRunner

import soliloquy_services.collector.app
from soliloquy.cli.main import commands
from soliloquy.client import Dataset
from soliloquy.recipes.recipe import find
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy_services.collector.live_datasets import LiveDatasets
from soliloquy_services.collector.settings import LiveSettings
from tests.integration.chat.support import answers, room
from tests.integration.executor.support import needs_runsc
from tests.integration.transport.support import idle, serving
from tests.waiting import until

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

RECIPES = ("soliloquy", "scaffold", "mathdial")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kept(sandbox: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The dataset of each recipe."""
    folder, places = tmp_path_factory.mktemp("kept"), {}
    async with room(sandbox, stand_in=False) as opened:
        for recipe in RECIPES:
            chat, problem = await opened.begun(recipe)
            for text in await answers(recipe, problem):
                pieces = await opened.answer(chat, text)
                if pieces[-1].data["over"]:
                    break
            places[recipe] = folder / (await opened.chats.finish(chat.id, keep=True)).run
    async with (
        EmbeddedTransport(folder / "log.sqlite") as transport,
        LiveDatasets(LiveSettings(data=folder)) as datasets,
    ):
        await transport.publish(opened.published)
        async with serving(soliloquy_services.collector.app.service(datasets), transport):
            await until(lambda: idle(transport, "collector"))
    return places


def told(*command: str | Path) -> str:
    result = CliRunner().invoke(commands, [str(part) for part in command])
    assert result.exit_code == 0, result.output
    return result.output


async def test_a_person_s_conversation_is_a_dataset_s_like_any_other(kept: dict[str, Path]) -> None:
    for name, place in kept.items():
        [conversation] = Dataset(place)
        recipe = find(name)
        assert conversation.person
        assert {turn.student.intent for turn in conversation.turns} <= {0, 1}
        assert recipe.record(conversation)["person"]
        assert recipe.faults(conversation) == []
        asked = [prompt.name for _, prompt in recipe.prompts(conversation)]
        assert not any(prompt.endswith("/student") for prompt in asked)
        given = [call.prompt for turn in conversation.turns for call in turn.calls]
        assert [prompt for prompt in asked if prompt in set(given)] == given
        assert {lesson.turn for lesson in recipe.lessons(conversation)} >= {turn.number for turn in conversation.turns}
        assert [one.text for one in recipe.dialogue(conversation) if one.role == "user"] == [
            turn.student.text for turn in conversation.turns if turn.HasField("student")
        ]
        assert "student: a person" in told("show", place)
        told("verify", place)


async def test_card_report_and_exports_say_that_a_person_was_the_student(kept: dict[str, Path], tmp_path: Path) -> None:
    for name, place in kept.items():
        told("report", place)
        card = (place / "README.md").read_text("utf-8")
        assert "| with a person as the student | 100 % (1 of 1) |" in card
        assert "Student and tutor are both models" not in card
        for form in ("openai", "sharegpt"):
            out = tmp_path / f"{name}-{form}.jsonl"
            told("export", place, "--format", form, "--out", out)
            [line] = out.read_text("utf-8").splitlines()
            assert json.loads(line)["person"] is True


async def test_an_exported_person_is_still_one_when_it_is_imported(kept: dict[str, Path], tmp_path: Path) -> None:
    out, back = tmp_path / "told.jsonl", tmp_path / "back"
    told("export", kept["soliloquy"], "--format", "openai", "--out", out)
    told("import", out, "--format", "openai", "--out", back)
    [conversation] = Dataset(back)
    assert conversation.person
    again = tmp_path / "again.jsonl"
    told("export", back, "--format", "openai", "--out", again)
    assert again.read_bytes() == out.read_bytes()
