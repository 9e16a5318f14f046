import json

import pytest

from services.model.engines.scripted import ScriptedEngine
from soliloquy.recipes.soliloquy.prompting import personas
from soliloquy.recipes.soliloquy.scripted.phrases import book, voice_of
from tests.unit.scripted.driver import conversation, request
from tests.unit.scripted.problems import CART, STONE_FALL, Shelf

EVALUATIONS = {"hint": "f", "solution": "f", "back": "f", "concept": "f", "unclear": "d", "off_topic": "e"}
ACTIONS = {
    "hint": {"8"},
    "solution": {"9"},
    "back": {"10", "11"},
    "concept": {"11"},
    "unclear": {"6"},
    "off_topic": {"7"},
}


def _lists(table: object, path: str = "") -> list[tuple[str, list[str]]]:
    if isinstance(table, dict):
        return [found for key, value in table.items() for found in _lists(value, f"{path}.{key}")]
    return [(path, table)] if isinstance(table, list) and all(isinstance(item, str) for item in table) else []


# Cues are read, and a person in a chat reads a line once: neither repeats itself through a dataset.
_SPOKEN = {key: table for key, table in book().tables.items() if key not in ("cues", "person")}


@pytest.mark.parametrize(("path", "options"), _lists(_SPOKEN))
def test_every_situation_has_five_wordings(path: str, options: list[str]) -> None:
    said = {phrase.text for phrase in book().phrases(*path.strip(".").split("."))} - {""}
    # A persona may have nothing to say where others do.
    assert len(said) >= 5 or options == [""]


def test_every_persona_has_a_voice() -> None:
    assert set(book().tables["voices"]) == set(personas({}))


@pytest.mark.parametrize("persona", ["", *personas({})])
async def test_whatever_a_student_says_when_asked_why_is_heard_as_its_reason(persona: str) -> None:
    engine, step = ScriptedEngine(Shelf()), CART.steps[-1]
    for idea in ("", "the force divided by the mass gives the acceleration"):
        for wording in voice_of(persona).wordings("reason", reason=idea, idea=idea.capitalize()):
            prompt = (
                f"<question>{CART.question}</question>"
                + conversation(["Tutor: Right. Why does that work?", f"Student: {wording}"])
                + f"<progress>Step being worked on: {step.number} of 5\nWrong answers at this step: 0</progress>"
            )
            fields = json.loads((await engine.generate(request("no_python", prompt, 3))).text)
            assert fields["Evaluation of Student Response"] == ("b" if idea in wording.casefold() and idea else "c")


@pytest.mark.parametrize("persona", ["", *personas({})])
@pytest.mark.parametrize("situation", EVALUATIONS)
@pytest.mark.parametrize("problem", [CART, STONE_FALL], ids=lambda problem: problem.id)
async def test_the_tutor_takes_each_wording_of_the_student_for_what_it_is(
    persona: str, situation: str, problem: object
) -> None:
    assert isinstance(problem, type(CART))
    engine = ScriptedEngine(Shelf())
    for step in problem.steps:
        for wording in voice_of(persona).wordings(situation, name=step.result.name):
            prompt = (
                f"<question>{problem.question}</question>"
                + conversation([f"Tutor: {step.ask}", f"Student: {wording}"])
                + f"<progress>Step being worked on: {step.number} of {len(problem.steps)}\n"
                + "Wrong answers at this step: 0</progress>"
            )
            fields = json.loads((await engine.generate(request("no_python", prompt, 3))).text)
            assert fields["Evaluation of Student Response"] == EVALUATIONS[situation], wording
            assert fields["Action Based on Evaluation"] in ACTIONS[situation], wording
