"""Imitates what is odd in real answers beside their messages, at each recipe's rates in rates/."""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from soliloquy.recipes.scaffold.answers import Tutored, tutored_text
from soliloquy.recipes.scene import Scene
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.standin.faults import Fields, Rates
from soliloquy.standin.phrasebook import load_tables
from soliloquy.standin.scaffold.questions import question_of
from soliloquy.standin.spoilt_messages import given_away, spoilt
from soliloquy.standin.steps import is_numeric, step_of
from soliloquy.truth.number_format import format_quantity

# How often a recipe's own faults occur, by recipe.
RATES: Mapping[str, Mapping[str, Any]] = load_tables(Path(__file__).with_name("rates"))
_EVALUATION, _STEP, _REPLY = "Evaluation of Student Response", "Step Number", "Tutorbot Response"
_ACTION = "Action Based on Evaluation"
# The states of scaffold in which a reply only leads on.
_LEADING_ON = ("start", "incorrect", "confusion", "question", "irrelevant")


def spoil_judgement(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    fields: Fields = json.loads(answer)
    code, step, words = fields[_EVALUATION], int(fields[_STEP]), rates.words
    text = fields[_REPLY]
    if rates.fault("opposite", rng) and (opposite := words["opposite"].get(code)):
        text = f"{rng.choice(opposite)} {text}"
    if rates.fault("giveaway", rng) and int(fields[_ACTION]) not in GIVING_ACTIONS:
        # A student who was right is told what comes next.
        ahead = scene.problem.steps[step_of(scene).number - (code != "b") :]
        if result := next((step.result for step in ahead if is_numeric(step)), None):
            text = given_away(text, format_quantity(result), rates, rng)
    fields[_REPLY] = _spoilt_reply(text, scene, rates, rng)
    label = rates.fault("code_label", rng)
    if label == "aliased_key":
        fields = {words["alias"] if key == _ACTION else key: value for key, value in fields.items()}
    written = words["codes"].get(label, "{code}")
    fields[_EVALUATION] = written.format(code=code, label=words["labels"][code], sentence=words["sentences"][code])
    number = words["numbers"].get(rates.fault("step_number", rng), "{step}")
    fields[_STEP] = number.format(step=step, before=max(1, step - 1), after=step + 1)
    return _written(fields)


def spoil_enrichment(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    fields, own = json.loads(answer), f"{rng.uniform(100, 1000):.5g}"
    match rates.fault("enrichment", rng):
        case "own_number":
            fields["Detailed Solution"] += f" That is nearly {own}."
        case "outlined_result":
            fields["Solution Outline"] += f" The result = {own}."
        case "misnumbered":
            fields["Solution Outline"] = fields["Solution Outline"].replace("Step 2)", "Step 3)", 1)
    return _written(fields)


def spoil_tutored(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    tutored, _ = Tutored.read(answer)
    reply = tutored.text
    if rates.fault("giveaway", rng) and tutored.state in _LEADING_ON:
        reply = given_away(reply, question_of(scene).answer.rstrip("."), rates, rng)
    reply = _spoilt_reply(reply, scene, rates, rng)
    return tutored_text(tutored.analysis, tutored.state, reply, tutored.claims)


def spoil_message(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    fields: Fields = json.loads(answer)
    text: str = fields["Message"]
    if rates.fault("giveaway", rng) and scene.slot("intent") != "reveal_answer":
        text = given_away(text, format_quantity(scene.problem.answer), rates, rng)
    fields["Message"] = _spoilt_reply(text, scene, rates, rng)
    return _written(fields)


def _spoilt_reply(text: str, scene: Scene, rates: Rates, rng: Random) -> str:
    return spoilt(text, "reply", scene.messages(student=False), rates, rng)


def _written(fields: Fields) -> str:
    return json.dumps(fields, ensure_ascii=False)
