"""Imitates what is odd in real tutors' judgements and enrichments, at the rates of noise.toml."""

import json
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.standin.faults import Fields, Rates
from soliloquy.standin.spoilt_messages import given_away, spoil_reply
from soliloquy.standin.steps import is_numeric, step_of
from soliloquy.truth.number_format import format_quantity

_EVALUATION = "Evaluation of Student Response"
_STEP = "Step Number"
_REPLY = "Tutorbot Response"
_ACTION = "Action Based on Evaluation"
_ACTION_ALIAS = "Action Based on the Evaluation"
_DETAILED, _OUTLINE = "Detailed Solution", "Solution Outline"


def spoil_judgement(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    fields: Fields = json.loads(answer)
    fields[_REPLY] = _spoilt_reply(fields, scene, rates, rng)
    label, words = rates.fault("code_label", rng), rates.words
    code = fields[_EVALUATION]
    match label:
        case "labelled":
            fields[_EVALUATION] = f"{code}) {words['labels'][code]}"
        case "sentence":
            fields[_EVALUATION] = f"{code}) {words['sentences'][code]}"
        case "bare":
            fields[_EVALUATION] = f"{code})"
        case "aliased_key":
            fields = {_ACTION_ALIAS if key == _ACTION else key: value for key, value in fields.items()}
    fields[_STEP] = _misnumbered(int(fields[_STEP]), rates.fault("step_number", rng))
    return _written(fields)


def _spoilt_reply(fields: Fields, scene: Scene, rates: Rates, rng: Random) -> str:
    text: str = fields[_REPLY]
    if rates.fault("opposite", rng) and (opposite := rates.words["opposite"].get(fields[_EVALUATION])):
        text = f"{rng.choice(opposite)} {text}"
    if rates.fault("giveaway", rng) and int(fields[_ACTION]) not in GIVING_ACTIONS:
        # A student who was right is told what comes next.
        ahead = scene.problem.steps[step_of(scene).number - (fields[_EVALUATION] != "b") :]
        if result := next((step.result for step in ahead if is_numeric(step)), None):
            text = given_away(text, format_quantity(result), rates, rng)
    return spoil_reply(text, scene, rates, rng)


def spoil_enrichment(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    fields, own = json.loads(answer), f"{rng.uniform(100, 1000):.5g}"
    match rates.fault("enrichment", rng):
        case "own_number":
            fields[_DETAILED] += f" That is nearly {own}."
        case "outlined_result":
            fields[_OUTLINE] += f" The result = {own}."
        case "misnumbered":
            fields[_OUTLINE] = fields[_OUTLINE].replace("Step 2)", "Step 3)", 1)
    return _written(fields)


def _written(fields: Fields) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _misnumbered(step: int, fault: str | None) -> str:
    match fault:
        case "worded":
            return f"Step {step}"
        case "several":
            return f"{step} & {step + 1}"
        case "lettered":
            return f"{step}b"
        case "none":
            return "N/A"
        case "skipped":
            return str(step + 1)
        case "backwards":
            return str(max(1, step - 1))
        case _:
            return str(step)
