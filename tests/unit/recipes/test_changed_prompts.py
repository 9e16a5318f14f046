"""A recipe is run with other prompts than its own, and nothing of its own is left in what models are told."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from soliloquy.recipes.mathdial import prompting as mathdial
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.prompts import BrokenPrompt, changed_texts, own_files
from soliloquy.recipes.recipe import checked_prompts, find
from soliloquy.recipes.soliloquy.student import drawn_persona
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation
from tests.cases import each_case
from tests.unit.recipes.conversations import sound_conversation
from tests.unit.scripted.dialling import dialled
from tests.unit.scripted.scaffolding import scaffolded

MARK = "in other words"


def text(*prompts: Prompt) -> str:
    return "\n".join(message.text for prompt in prompts for message in prompt.messages)


def asked(conversation: Conversation) -> str:
    return text(*(prompt for _, prompt in find(conversation.run.recipe).prompts(conversation)))


def changed(recipe: str, file: str, change: Callable[[str], str]) -> Mapping[str, str]:
    return {file: change(own_files(recipe)[file].read_text("utf-8"))}


def reworded(made: Conversation, file: str, words: str) -> Conversation:
    """Returns the conversation of a run with a mark in place of these words of a file."""
    other = Conversation()
    other.CopyFrom(made)
    other.run.prompts.update(changed(made.run.recipe, file, lambda own: own.replace(words, MARK)))
    return other


def test_a_text_is_the_runs_and_every_other_stays_the_recipes_own() -> None:
    made = sound_conversation()
    made.persona = "terse"
    other = reworded(made, "deciding.txt", "calculation needed")
    assert "calculation needed" in asked(made)
    assert "calculation needed" not in asked(other)
    assert asked(other).replace(MARK, "calculation needed") == asked(made)


def test_only_a_changed_file_has_another_fingerprint() -> None:
    fingerprints = find("soliloquy").fingerprints
    own, other = fingerprints({}), fingerprints(changed("soliloquy", "deciding.txt", lambda own: own + MARK))
    assert own.keys() == other.keys()
    assert dict(other.items() - own.items()).keys() == {"deciding.txt"}


@pytest.mark.parametrize("recipe", known_recipes())
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["same", "marked"])
def test_the_recipes_own_texts_change_nothing(tmp_path: Path, recipe: str, mark: bytes) -> None:
    """However an editor ends its lines, and whether it marks the encoding."""
    for path in own_files(recipe).values():
        (tmp_path / path.name).write_bytes(mark + path.read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / ".swap").touch()
    assert not changed_texts(recipe, tmp_path)


async def test_texts_that_a_dialogue_tutor_is_told_of_moves_profiles_and_beliefs_are_the_runs() -> None:
    [made] = [one async for one in dialled(1, problems=1, seed=3)]
    for file, words in (
        ("moves.toml", "say what comes out"),
        ("beliefs.toml", "final answer"),
        ("profiles.toml", mathdial.profiles({})[made.persona]),
        ("categories.toml", "none of these"),
    ):
        other = reworded(made, file, words)
        assert MARK in asked(other)
        assert asked(other).replace(MARK, words) == asked(made)


async def test_texts_that_a_tutor_with_a_plan_is_told_of_states_are_the_runs() -> None:
    [made] = [one async for one in scaffolded(1, seed=3)]
    words = "the message has nothing to do with the problem"
    other = reworded(made, "states.toml", words)
    assert words in asked(made)
    assert asked(other).replace(MARK, words) == asked(made)
    assert MARK in text(*(lesson.prompt for lesson in find("scaffold").lessons(other)))


def test_topics_to_write_about_are_the_runs() -> None:
    recipe = find("mathwell")
    assert recipe.topics
    assert recipe.topics({"topics.toml": 'topics = ["penguins"]'}) == ("penguins",)


@each_case
def test_a_prompt_that_cannot_be_used_is_refused_with_its_file_and_key(
    recipe: str,
    file: str,
    whole: str | None,
    begins: str | None,
    ends: str | None,
    replaces: list[str] | None,
    why: str,
) -> None:
    def change(own: str) -> str:
        text = own if whole is None else whole
        return (begins or "") + (text.replace(replaces[0], replaces[1]) if replaces else text) + (ends or "")

    with pytest.raises(BrokenPrompt) as refused:
        checked_prompts(recipe, changed(recipe, file, change))
    assert str(refused.value).startswith(f"{file}: {why}")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"studnt.txt": ""}, "studnt.txt: the recipe soliloquy has no such prompt: did you mean student?"),
        ({"READ.ME": ""}, "READ.ME: the recipe soliloquy has no such prompt; it has asking.toml, asking_why.txt"),
        ({"": ""}, ": the recipe soliloquy has no such prompt"),
        ({"../recipe.py": ""}, "../recipe.py: the recipe soliloquy has no such prompt"),
        ({"student.txt": "x" * 40_000}, "the changed prompts have 40,000 bytes: use at most 32,768"),
        ({"personas.toml": f"a = {'[' * 10_000}"}, "personas.toml: is not TOML"),
    ],
)
def test_files_that_no_run_can_have_are_refused(changed: Mapping[str, str], why: str) -> None:
    with pytest.raises(BrokenPrompt) as refused:
        checked_prompts("soliloquy", changed)
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        (".hidden", b"", " holds no prompts: soliloquy recipes prompts soliloquy --out "),
        ("student.txt", b"caf\xe9", "/student.txt: is not UTF-8 (byte 3): save it as UTF-8"),
    ],
)
def test_a_folder_that_is_not_one_of_prompts_is_refused(tmp_path: Path, file: str, content: bytes, why: str) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(BrokenPrompt) as refused:
        changed_texts("soliloquy", tmp_path)
    assert str(refused.value).startswith(f"{tmp_path}{why}")


def test_a_persona_of_the_run_is_drawn() -> None:
    made = sound_conversation()
    made.run.prompts["personas.toml"] = '[sleepy]\nshare = 1\nmanner = "You yawn."'
    made.persona = drawn_persona(made)
    assert made.persona == "sleepy"
    assert "You yawn." in asked(made)


def test_runs_with_other_prompts_leave_each_other_alone() -> None:
    made = sound_conversation()
    rewordings = [reworded(made, "deciding.txt", words) for words in ("calculation needed", "student")]
    own, *others = map(asked, (made, *rewordings, made))
    assert len({own, *others}) == 3
    assert others[-1] == own
