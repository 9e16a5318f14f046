"""Imitates the malformed answers of real models, at the rates of noise.toml."""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.scene import Scene, Spoil
from soliloquy.runtime.files import table_beside
from soliloquy.standin.faults import LEVELS, Fields, Rates, fenced, unfenced
from soliloquy.standin.program_faults import miscalculating
from soliloquy.standin.programs import without_input
from soliloquy.standin.speakers import rates_of, spoils

# The slots that say what a message is to be.
_KINDS = ("kind", "shown", "belief")
_ASSIGNED = re.compile(r"^([^\W\d]\w*) = ", re.MULTILINE)


def noise_of(level: str) -> "Noise | None":
    """Returns the faults of all answers and those that recipes know of their own; None for the level without any."""
    found = LEVELS[level]
    if not (found.faults or found.lengths):
        return None
    tables = table_beside(__file__, "noise.toml")
    rates = {name: Rates(_merged(tables, rates_of(name)), found) for name in known_recipes()}
    return Noise(Rates(tables, found), rates, spoils())


def _merged(tables: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**tables, **own, "words": {**tables["words"], **own.get("words", {})}}


class Noise:
    """Draws each request's faults from the request's own random source."""

    def __init__(self, rates: Rates, recipes: Mapping[str, Rates], spoils: Mapping[str, Spoil]) -> None:
        """`recipes` has the rates of each recipe, and `spoils` what recipes do to the answers to their prompts."""
        self._rates = rates
        self._recipes = recipes
        self._spoils = spoils

    def misread(self, scene: Scene, rng: Random) -> Scene:
        """Returns a request as a model takes it that contradicts the code's verdict, or does not do as it was told."""
        rates = self._of(scene.prompt)
        if rates.fault("verdict", rng) and scene.record.turns:
            opposite = {"True": "False", "False": "True"}
            turned = {name: opposite[value] for name, value in scene.output.items() if value in opposite}
            scene = replace(scene, misread=turned)
        told = next((name for name in _KINDS if scene.slot(name)), "")
        if told and (other := rates.fault(f"kinds.{scene.slot(told)}", rng)):
            record = deepcopy(scene.record)
            record.slots[told] = other
            scene = replace(scene, record=record)
        return scene

    def spoil(self, answer: str, scene: Scene, rng: Random) -> str:
        """Returns the answer with its faults; code that is a retry after an error is not broken again."""
        if spoil := self._spoils.get(scene.prompt):
            answer = spoil(answer, scene, self._of(scene.prompt), rng)
        if not answer.startswith("{"):
            return answer
        fields: Fields = json.loads(answer)
        if "Python" in fields:
            self._spoil_code(fields["Python"], rng, retry=bool(scene.slot("failure")))
        elif "Description" in fields and self._rates.fault("description", rng):
            fields["Description"] = without_input(fields["Description"], rng)
        elif fields.get("Use Python") == "y" and self._rates.fault("decision", rng):
            fields = {"Use Python": "n"}
        return self._written(fields, rng)

    def _of(self, prompt: str) -> Rates:
        """Returns the rates of the recipe that a prompt's name begins with."""
        return self._recipes.get(prompt.partition("/")[0], self._rates)

    def _spoil_code(self, fields: Fields, rng: Random, *, retry: bool) -> None:
        code = unfenced(fields["Python Code"])
        variables = fields["Result Variable"]
        if self._rates.fault("code", rng):
            code, variables = self._greek(code, variables, rng)
        if fault := self._rates.fault("program", rng):
            code = miscalculating(code, fault, rng)
        failure = self._rates.fault("failure", rng)
        if failure and not retry:
            code = _broken(code, failure)
        fields["Python Code"] = fenced(code, self._rates.fault("fence", rng))
        fields["Result Variable"] = variables

    def _greek(self, code: str, variables: str, rng: Random) -> tuple[str, str]:
        names = [name for name in _ASSIGNED.findall(code) if name.isascii() and not name.startswith(("is_", "student"))]
        letters = [letter for letter in self._rates.words["greek"] if letter not in code]
        if not names or not letters:
            return code, variables
        name = re.compile(rf"(?<![\w.]){rng.choice(names)}(?!\w)")
        letter = rng.choice(letters)
        return name.sub(letter, code), name.sub(letter, variables)

    def _written(self, fields: Fields, rng: Random) -> str:
        text = json.dumps(fields, ensure_ascii=False)
        match self._rates.fault("block", rng):
            case "python_literal":
                return str(fields)
            case "missing_brace":
                return text[:-1]
            case "trailing_comma":
                return f"{text[:-1]},}}"
            case "truncated":
                return text[: int(len(text) * rng.uniform(0.4, 0.8))]
            case "refusal":
                return str(rng.choice(self._rates.words["refusals"]))
            case _:
                return text


def _broken(code: str, failure: str) -> str:
    """Returns the code with an error: a missing import, an undefined name or an open bracket."""
    assigned = _ASSIGNED.search(code)
    if failure == "missing_import" and "math." in code:
        return code.replace("import math\n", "", 1)
    if failure == "unknown_name" and assigned and re.search(rf"(?<![\w.]){assigned[1]}(?!\w)", code[assigned.end() :]):
        return f"{code[: assigned.end(1)]}_value{code[assigned.end(1) :]}"
    return f"{code}("
