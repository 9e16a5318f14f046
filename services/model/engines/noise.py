"""Imitates the malformed answers of real models, at the rates of noise.toml."""

import json
import re
from collections.abc import Mapping
from random import Random

from soliloquy.recipes.packages import known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.recipes.scripted.faults import Fields, Rates, Spoil, fenced, unfenced
from soliloquy.runtime.beside import table_beside

_VERDICT = re.compile(r"(?<== )(True|False)(?=\s*$)", re.MULTILINE)
_ASSIGNED = re.compile(r"^([^\W\d]\w*) = ", re.MULTILINE)


def real_noise() -> "Noise":
    """Returns the faults of all answers, and those that recipes know of their own."""
    tables = table_beside(__file__, "noise.toml")
    spoils: dict[str, tuple[Spoil, Rates]] = {}
    for name in known_recipes():
        recipe = find(name)
        own = Rates({**tables, **recipe.noise_rates})
        spoils |= {field: (spoil, own) for field, spoil in recipe.noise.items()}
    return Noise(Rates(tables), spoils)


class Noise:
    """Draws each request's faults from the request's own random source."""

    def __init__(self, rates: Rates, spoils: Mapping[str, tuple[Spoil, Rates]]) -> None:
        """`spoils` has what recipes do to answers with a field."""
        self._rates = rates
        self._spoils = spoils

    def misread(self, prompt: str, rng: Random) -> str:
        """Returns the prompt as a model reads it that contradicts the code's verdict."""
        start, end = prompt.rfind("<output>"), prompt.rfind("</output>")
        if not self._rates.fault("verdict", rng) or not 0 <= start < end:
            return prompt
        opposite = _VERDICT.sub(lambda verdict: str(verdict.group() == "False"), prompt[start:end])
        return prompt[:start] + opposite + prompt[end:]

    def spoil(self, answer: str, rng: Random, *, retry: bool) -> str:
        """Returns the answer with its faults; code that is a retry after an error is not broken again."""
        if not answer.startswith("{"):
            return f"Student: {answer}" if self._rates.fault("prefix", rng) else answer
        fields: Fields = json.loads(answer)
        if "Python" in fields:
            self._spoil_code(fields["Python"], rng, retry)
        elif known := next((field for field in fields if field in self._spoils), None):
            spoil, rates = self._spoils[known]
            fields = spoil(fields, rates, rng)
        return self._written(fields, rng)

    def _spoil_code(self, fields: Fields, rng: Random, retry: bool) -> None:
        code = unfenced(fields["Python Code"])
        variables = fields["Result Variable"]
        if self._rates.fault("code", rng):
            code, variables = self._greek(code, variables, rng)
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
