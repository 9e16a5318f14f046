"""Imitates what is odd in real tutors' judgements and enrichments, at the rates of noise.toml."""

from random import Random

from soliloquy.recipes.scripted.faults import Fields, Rates
from soliloquy.runtime.beside import table_beside

_EVALUATION = "Evaluation of Student Response"
_STEP = "Step Number"
_ACTION = "Action Based on Evaluation"
_ACTION_ALIAS = "Action Based on the Evaluation"
_DETAILED, _OUTLINE = "Detailed Solution", "Solution Outline"

RATES = table_beside(__file__, "noise.toml")


def spoil_judgement(fields: Fields, rates: Rates, rng: Random) -> Fields:
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
    if rates.fault("prefix", rng):
        speaker = rng.choice(("Tutor", "Tutorbot", "Student"))
        fields["Tutorbot Response"] = f"{speaker}: {fields['Tutorbot Response']}"
    return fields


def spoil_enrichment(fields: Fields, rates: Rates, rng: Random) -> Fields:
    own = f"{rng.uniform(100, 1000):.5g}"
    match rates.fault("enrichment", rng):
        case "own_number":
            fields[_DETAILED] += f" That is nearly {own}."
        case "outlined_result":
            fields[_OUTLINE] += f" The result = {own}."
        case "misnumbered":
            fields[_OUTLINE] = fields[_OUTLINE].replace("Step 2)", "Step 3)", 1)
    return fields


# By the field that only such an answer has.
NOISE = {_EVALUATION: spoil_judgement, _DETAILED: spoil_enrichment}


def _misnumbered(step: int, fault: str | None) -> str:
    match fault:
        case "worded":
            return f"Step {step}"
        case "several":
            return f"{step} & {step + 1}"
        case "lettered":
            return f"{step}b"
        case "backwards":
            return str(max(1, step - 1))
        case _:
            return str(step)
