"""A recipe is run with other prompts than its own, and nothing of its own is left in what models are told."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from soliloquy.recipes.codegen import program_prompt
from soliloquy.recipes.judges import Judges
from soliloquy.recipes.mathdial import prompting as mathdial
from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.prompts import BrokenPrompt, Prompts, changed_prompts, check_tags, own_folder
from soliloquy.recipes.recipe import Recipe, find
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.student import drawn_persona
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Conversation
from tests.unit.recipes.conversations import calculated, sound_conversation
from tests.unit.scripted.dialling import dialled
from tests.unit.scripted.scaffolding import scaffolded

MARK = "in other words"


def text(*prompts: Prompt) -> str:
    return "\n".join(message.text for prompt in prompts for message in prompt.messages)


def asked(recipe: Recipe, conversation: Conversation) -> str:
    return text(*(prompt for _, prompt in recipe.prompts(conversation)))


def changed(folder: Path, recipe: str, file: str, change: Callable[[str], str]) -> Prompts:
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(change((own_folder(recipe) / file).read_text("utf-8")), "utf-8")
    prompts = changed_prompts(recipe, folder)
    assert prompts
    return prompts


def reworded(folder: Path, recipe: str, file: str, words: str) -> Recipe:
    """Returns the recipe with a mark in place of these words of a file."""
    return find(recipe, changed(folder, recipe, file, lambda own: own.replace(words, MARK)))


def test_a_text_is_the_folders_and_every_other_stays_the_recipes_own(tmp_path: Path) -> None:
    made, own = sound_conversation(), find("soliloquy")
    made.persona = "terse"
    other = reworded(tmp_path, "soliloquy", "deciding.txt", "inner voice")
    assert "inner voice" in asked(own, made)
    assert "inner voice" not in asked(other, made)
    assert asked(other, made).replace(MARK, "inner voice") == asked(own, made)


def test_only_a_changed_file_has_another_fingerprint(tmp_path: Path) -> None:
    own, other = find("soliloquy"), reworded(tmp_path, "soliloquy", "deciding.txt", "inner voice")
    assert own.fingerprints().keys() == other.fingerprints().keys()
    assert dict(other.fingerprints().items() - own.fingerprints().items()).keys() == {"deciding.txt"}


@pytest.mark.parametrize("recipe", known_recipes())
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["same", "marked"])
def test_the_recipes_own_texts_change_nothing(tmp_path: Path, recipe: str, mark: bytes) -> None:
    """However an editor ends its lines, and whether it marks the encoding."""
    for path in own_folder(recipe).iterdir():
        (tmp_path / path.name).write_bytes(mark + path.read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / ".swap").touch()
    assert changed_prompts(recipe, tmp_path) is None


async def test_texts_that_a_dialogue_tutor_is_told_of_moves_profiles_and_beliefs_are_the_folders(
    tmp_path: Path,
) -> None:
    [made] = [one async for one in dialled(1, problems=1, seed=3)]
    for file, words in (
        ("moves.toml", "say what comes out"),
        ("beliefs.toml", "final answer"),
        ("profiles.toml", mathdial.profiles()[made.persona]),
        ("categories.toml", "none of these"),
    ):
        recipe = reworded(tmp_path / file, "mathdial", file, words)
        assert MARK in asked(recipe, made)
        assert asked(recipe, made).replace(MARK, words) == asked(find("mathdial"), made)


async def test_texts_that_a_tutor_with_a_plan_is_told_of_states_are_the_folders(tmp_path: Path) -> None:
    [made] = [one async for one in scaffolded(1, seed=3)]
    words = "the message has nothing to do with the problem"
    recipe = reworded(tmp_path, "scaffold", "states.toml", words)
    assert words in asked(find("scaffold"), made)
    assert asked(recipe, made).replace(MARK, words) == asked(find("scaffold"), made)
    assert MARK in text(*(lesson.prompt for lesson in recipe.lessons(made)))


def test_topics_to_write_about_are_the_folders(tmp_path: Path) -> None:
    recipe = find("mathwell", changed(tmp_path, "mathwell", "topics.toml", lambda _: 'topics = ["penguins"]'))
    assert recipe.topics
    assert recipe.topics() == ("penguins",)


async def test_roles_that_run_side_by_side_each_have_their_own_prompts(tmp_path: Path) -> None:
    """They wait for each other in the middle of a role, and their parts run in tasks of their own."""
    rewordings = [
        changed(tmp_path / number, "soliloquy", "use_python.txt", partial(re.sub, "$", f"\nNo. {number}", count=1))
        for number in "012"
    ]
    met = asyncio.Barrier(4)

    async def role() -> str:
        await met.wait()

        async def part() -> str:
            await asyncio.sleep(0)
            return text(program_prompt(prompting.TEMPLATES, calculated(None)))

        return await asyncio.create_task(part())

    own, *others = await asyncio.gather(role(), *(prompts.bound(role)() for prompts in rewordings))
    assert "No. " not in own
    assert [other.strip().rpartition("\n")[2] for other in others] == ["No. 0", "No. 1", "No. 2"]
    assert text(program_prompt(prompting.TEMPLATES, calculated(None))) == own


def test_a_role_of_a_package_that_returns_an_awaitable_is_bound_too(tmp_path: Path) -> None:
    prompts = changed(tmp_path, "soliloquy", "control.txt", lambda own: own + MARK)

    async def compose(conversation: Conversation, judges: Judges) -> str:
        await asyncio.sleep(0)
        return prompting.TEMPLATES.fill("control")

    bound = prompts.bound(lambda conversation, judges: compose(conversation, judges))
    assert asyncio.run(bound(Conversation(), Judges())).endswith(MARK)
    assert not prompting.TEMPLATES.fill("control").endswith(MARK)


def _without(words: str) -> Callable[[str], str]:
    return lambda own: own.replace(words, "")


@pytest.mark.parametrize(
    ("recipe", "file", "change", "why"),
    [
        ("soliloquy", "student.txt", _without("$conversation"), "$conversation is missing: put it where"),
        ("soliloquy", "student.txt", lambda own: own + "$qestion", "$qestion is unknown; its slots are"),
        (
            "soliloquy",
            "student.txt",
            lambda own: own + "\n{name}",
            "line 30: '{name}' is not a slot: write one as $name",
        ),
        ("soliloquy", "student.txt", _without("[user]"), "[user] is missing: the model is asked by that message"),
        ("soliloquy", "student.txt", lambda own: "Hello\n" + own, "line 1 belongs to no message: begin with [system]"),
        ("soliloquy", "student.txt", lambda _: "", "[user] is missing"),
        ("soliloquy", "intents.toml", lambda own: own + '\nhello = ""', "hello is unknown; its keys are opening"),
        ("soliloquy", "personas.toml", lambda _: "", "the file has no entries"),
        ("soliloquy", "personas.toml", lambda own: own.replace("0.13", "nan"), "terse.share: nan is not a number from"),
        ("soliloquy", "personas.toml", lambda own: own.replace("0.13", "-1"), "terse.share: -1 is not a number from 0"),
        ("mathdial", "moves.toml", lambda own: own.replace("guide", "gide"), "focus.intents.guide_focus is missing"),
        ("mathdial", "categories.toml", lambda own: own + 'x = ""', "x is unknown; its keys are went_on"),
        ("mathdial", "names.toml", lambda own: own + "it = []", "it: [] is not a list of texts"),
        ("scaffold", "states.toml", lambda own: own.replace('"g"', '"z"'), "start.evaluation: 'z' is not one of a, b"),
        ("scaffold", "states.toml", lambda own: own + "[bored]\nmeaning=''", "bored is unknown; its keys are start"),
        ("mathwell", "topics.toml", lambda _: "topics = []", "topics: [] is not a list of texts"),
        ("mathwell", "wishes.toml", _without("$grade"), "grade: $grade is missing: put it where"),
        ("mathwell", "wishes.toml", lambda own: own.replace("$grade", "$class"), "grade: $class is unknown; its slots"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused_with_its_file_and_key(
    tmp_path: Path, recipe: str, file: str, change: Callable[[str], str], why: str
) -> None:
    with pytest.raises(BrokenPrompt) as refused:
        find(recipe, changed(tmp_path, recipe, file, change)).fingerprints()
    assert str(refused.value).startswith(f"{tmp_path}/{file}: {why}")


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("studnt.txt", b"", "/studnt.txt: the recipe soliloquy has no such prompt: did you mean student.txt?"),
        ("READ.ME", b"", "/READ.ME: the recipe soliloquy has no such prompt; it has control.txt, deciding.txt"),
        (".hidden", b"", " holds no prompts: soliloquy recipes prompts soliloquy --out "),
        ("student.txt", b"caf\xe9", "/student.txt: is not UTF-8 (byte 3): save it as UTF-8"),
        ("student.txt", b"x" * 300_000, " holds 300,000 bytes of prompts: use at most 262,144"),
    ],
)
def test_a_folder_that_is_not_one_of_prompts_is_refused(tmp_path: Path, file: str, content: bytes, why: str) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(BrokenPrompt) as refused:
        changed_prompts("soliloquy", tmp_path)
    assert str(refused.value).startswith(f"{tmp_path}{why}")


def test_a_tag_that_the_scripted_model_reads_is_missed(tmp_path: Path) -> None:
    prompts = changed(tmp_path, "soliloquy", "student.txt", lambda own: own.replace("<conversation>", "Said:"))
    with pytest.raises(BrokenPrompt, match=r"student\.txt: <conversation> is missing: the scripted model reads"):
        check_tags(prompts)
    check_tags(changed(tmp_path, "soliloquy", "student.txt", lambda own: own.replace("You play", "You are")))


def test_a_persona_of_the_folder_is_drawn(tmp_path: Path) -> None:
    prompts = changed(tmp_path, "soliloquy", "personas.toml", lambda _: '[sleepy]\nshare = 1\nmanner = "You yawn."')
    made = sound_conversation()
    made.persona = prompts.bound(drawn_persona)(made)
    assert made.persona == "sleepy"
    assert "You yawn." in asked(find("soliloquy", prompts), made)
