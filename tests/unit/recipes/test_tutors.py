"""Tutors differ in how they say things, and in nothing that a recipe has them do."""

from collections import Counter

import pytest

from soliloquy.recipes import tutors
from soliloquy.recipes.mathdial import prompting as mathdial
from soliloquy.recipes.prompts import own_files
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scaffold import prompting as scaffold
from soliloquy.recipes.soliloquy import prompting as soliloquy
from soliloquy.runtime.failure import Refused
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.runs_pb2 import Run
from tests.unit.scripted.dialling import dialled
from tests.unit.scripted.growing import grown as physics
from tests.unit.scripted.scaffolding import scaffolded

TEMPLATES = {"mathdial": mathdial.TEMPLATES, "scaffold": scaffold.TEMPLATES, "soliloquy": soliloquy.TEMPLATES}
RECIPES = sorted(TEMPLATES)
STATES = (*("mathdial/replying", "scaffold/tutoring", "soliloquy/received_python", "soliloquy/no_python"),)


def tutored(persona: str, recipe: str = "mathdial", conversation_id: str = "one") -> Conversation:
    return Conversation(id=conversation_id, tutor_persona=persona, run=Run(recipe=recipe, seed=3))


@pytest.mark.parametrize("recipe", RECIPES)
def test_each_tutor_is_drawn_as_often_as_its_share(recipe: str) -> None:
    texts, drawn = TEMPLATES[recipe].own, Counter[str]()
    for number in range(2_000):
        conversation = tutored("", recipe, f"conversation {number}")
        tutors.draw_tutor(conversation, texts)
        drawn[conversation.tutor_persona] += 1
    wanted = {name: row["share"] for name, row in texts.table("tutors").items()}
    assert sum(wanted.values()) == pytest.approx(1)
    assert {name: drawn[name] / 2_000 for name in wanted} == pytest.approx(wanted, abs=0.04)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_plain_tutor_is_to_be_had_by_name_and_adds_nothing_to_a_prompt(recipe: str) -> None:
    told = own_files(recipe)["tutors.toml"].read_text("utf-8")
    for row in TEMPLATES[recipe].own.table("tutors").values():
        told = told.replace(f"share = {row['share']}", "share = 0.0")
    texts = TEMPLATES[recipe].of({"tutors.toml": told.replace("share = 0.0", "share = 1.0", 1)})
    conversation = tutored("", recipe)
    tutors.draw_tutor(conversation, texts)
    assert conversation.tutor_persona == "plain"
    assert tutors.tutor_persona(conversation, texts) == tutors.tutor_persona(tutored("", recipe), texts) == ""


@pytest.mark.parametrize("recipe", RECIPES)
def test_an_unknown_tutor_is_refused_with_those_that_there_are(recipe: str) -> None:
    with pytest.raises(Refused, match=r"no tutor 'stern': use one of plain, brisk"):
        tutors.tutor_persona(tutored("stern", recipe), TEMPLATES[recipe].own)


async def test_prompts_of_a_reply_tell_the_persona_behind_the_rules_that_a_cache_holds() -> None:
    grown = [one async for one in dialled(3, problems=3, seed=9)] + [one async for one in scaffolded(3, seed=9)]
    grown += [await physics(ordinal, seed=9) for ordinal in range(3)]
    assert len({one.tutor_persona for one in grown}) > 1
    for one in grown:
        told = f'<tutor_persona name="{one.tutor_persona}">'
        states = [prompt for _, prompt in find(one.run.recipe).prompts(one) if prompt.name in STATES]
        assert states
        for prompt in states:
            text = "\n".join(message.text for message in prompt.messages)
            assert (
                text.index("<question>") < text.index(told) < max(text.find("<conversation>"), text.find("<history>"))
            )
