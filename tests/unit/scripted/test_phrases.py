import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.model.engines.scripted import ScriptedEngine
from services.recipes.soliloquy.prompting import personas
from services.recipes.soliloquy.scripted.numbers import answer_in, rounded, with_unit
from services.recipes.soliloquy.scripted.phrases import book, phrases
from services.recipes.soliloquy.scripted.voice import Voice
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


@pytest.mark.parametrize(("path", "options"), _lists({key: table for key, table in book().items() if key != "cues"}))
def test_every_situation_has_five_wordings(path: str, options: list[str]) -> None:
    said = {phrase.text for phrase in phrases(*path.strip(".").split("."))} - {""}
    # A persona may have nothing to say where others do.
    assert len(said) >= 5 or options == [""]


def test_every_persona_has_a_voice() -> None:
    assert set(book()["voices"]) == set(personas())


@pytest.mark.parametrize("persona", ["", *personas()])
@pytest.mark.parametrize("situation", EVALUATIONS)
@pytest.mark.parametrize("problem", [CART, STONE_FALL], ids=lambda problem: problem.id)
async def test_the_tutor_takes_each_wording_of_the_student_for_what_it_is(
    persona: str, situation: str, problem: object
) -> None:
    assert isinstance(problem, type(CART))
    engine = ScriptedEngine(Shelf())
    for step in problem.steps:
        for wording in Voice(persona=persona).wordings(situation, name=step.result.name):
            prompt = (
                f"<question>{problem.question}</question>"
                + conversation([f"Tutor: {step.ask}", f"Student: {wording}"])
                + f"<progress>Step being worked on: {step.number} of {len(problem.steps)}\n"
                + "Wrong answers at this step: 0</progress>"
            )
            fields = json.loads((await engine.generate(request("no_python", prompt, 3))).text)
            assert fields["Evaluation of Student Response"] == EVALUATIONS[situation], wording
            assert fields["Action Based on Evaluation"] in ACTIONS[situation], wording


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("F = m * a = 2 * 3 = 6 N", 6.0),
        ("I get 6 N, because 2 × 3.", 6.0),
        ("It is about -4.2 m/s^2, I think", -4.2),
        ("v2 = 1,200.5 m/s", 1200.5),
        ("So q is 1.6 × 10^-19 C", 1.6e-19),
        ("I got 3e8 m/s", 3e8),
        ("in kg m^2 s-1", None),
        ("no idea", None),
    ],
)
def test_the_answer_of_a_sentence_is_found(text: str, value: float | None) -> None:
    assert answer_in(text, "") == value


def test_a_number_in_the_unit_asked_for_is_preferred() -> None:
    assert answer_in("So v is 5 m/s and t is 3 s", "m/s") == 5
    assert answer_in("So x is 5 m and v is 3 m/s", "m") == 5


@given(st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30), st.sampled_from((3, 4)))
def test_a_rounded_number_reads_back_within_half_a_percent(value: float, digits: int) -> None:
    read = answer_in(f"So it is {with_unit(rounded(value, digits), 'kg*m^2')}.", "kg*m^2")
    assert read is not None
    assert abs(read - value) <= 0.00501 * abs(value)
    assert len(re.sub(r"[^\d]", "", rounded(value, digits).partition(" ×")[0]).lstrip("0")) <= 7
