"""Imitates the malformed answers of real models, at the rates of noise.toml."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

_VERDICT = re.compile(r"(?<== )(True|False)(?=\s*$)", re.MULTILINE)
_FENCE = re.compile(r"```python\n(.*)\n```", re.DOTALL)
_ASSIGNED = re.compile(r"^([^\W\d]\w*) = ", re.MULTILINE)
_RETURN = re.compile(r"return (\w+)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SIGN = re.compile(r"(?<=\w) ([-+*/]) (?=\w)")
_OTHER_SIGN = {"+": "-", "-": "+", "*": "/", "/": "*"}
_EVALUATION = "Evaluation of Student Response"
_STEP = "Step Number"
_ACTION = "Action Based on Evaluation"
_ACTION_ALIAS = "Action Based on the Evaluation"
_FUNCTION = "Python Function"
_DETAILED, _OUTLINE = "Detailed Solution", "Solution Outline"

Fields = dict[str, Any]


def real_noise() -> "Noise":
    return Noise(tomllib.loads(Path(__file__).with_name("noise.toml").read_text("utf-8")))


class Noise:
    """Draws each request's faults from the request's own random source."""

    def __init__(self, rates: Mapping[str, Any]) -> None:
        self._rates = rates

    def misread(self, prompt: str, rng: Random) -> str:
        """Returns the prompt as a model reads it that contradicts the code's verdict."""
        start, end = prompt.rfind("<output>"), prompt.rfind("</output>")
        if not self._fault("verdict", rng) or not 0 <= start < end:
            return prompt
        opposite = _VERDICT.sub(lambda verdict: str(verdict.group() == "False"), prompt[start:end])
        return prompt[:start] + opposite + prompt[end:]

    def spoil(self, answer: str, rng: Random, *, retry: bool) -> str:
        """Returns the answer with its faults; code that is a retry after an error is not broken again."""
        if not answer.startswith("{"):
            return f"Student: {answer}" if self._fault("prefix", rng) else answer
        fields: Fields = json.loads(answer)
        if "Python" in fields:
            self._spoil_code(fields["Python"], rng, retry)
        elif _EVALUATION in fields:
            fields = self._spoil_judgement(fields, rng)
        elif _DETAILED in fields:
            self._spoil_enrichment(fields, rng)
        elif _FUNCTION in fields:
            self._spoil_problem(fields, rng)
        return self._written(fields, rng)

    def _fault(self, group: str, rng: Random) -> str | None:
        drawn, reached = rng.random(), 0.0
        for fault, rate in self._rates[group].items():
            reached += rate
            if drawn < reached:
                return str(fault)
        return None

    def _spoil_code(self, fields: Fields, rng: Random, retry: bool) -> None:
        code = _FENCE.sub(r"\1", fields["Python Code"])
        variables = fields["Result Variable"]
        if self._fault("code", rng):
            code, variables = self._greek(code, variables, rng)
        failure = self._fault("failure", rng)
        if failure and not retry:
            code = _broken(code, failure)
        fields["Python Code"] = _fenced(code, self._fault("fence", rng))
        fields["Result Variable"] = variables

    def _greek(self, code: str, variables: str, rng: Random) -> tuple[str, str]:
        names = [name for name in _ASSIGNED.findall(code) if name.isascii() and not name.startswith(("is_", "student"))]
        letters = [letter for letter in self._rates["words"]["greek"] if letter not in code]
        if not names or not letters:
            return code, variables
        name = re.compile(rf"(?<![\w.]){rng.choice(names)}(?!\w)")
        letter = rng.choice(letters)
        return name.sub(letter, code), name.sub(letter, variables)

    def _spoil_judgement(self, fields: Fields, rng: Random) -> Fields:
        label, words = self._fault("code_label", rng), self._rates["words"]
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
        fields[_STEP] = _misnumbered(int(fields[_STEP]), self._fault("step_number", rng))
        if self._fault("prefix", rng):
            speaker = rng.choice(("Tutor", "Tutorbot", "Student"))
            fields["Tutorbot Response"] = f"{speaker}: {fields['Tutorbot Response']}"
        return fields

    def _spoil_enrichment(self, fields: Fields, rng: Random) -> None:
        own = f"{rng.uniform(100, 1000):.5g}"
        match self._fault("enrichment", rng):
            case "own_number":
                fields[_DETAILED] += f" That is nearly {own}."
            case "outlined_result":
                fields[_OUTLINE] += f" The result = {own}."
            case "misnumbered":
                fields[_OUTLINE] = fields[_OUTLINE].replace("Step 2)", "Step 3)", 1)

    def _spoil_problem(self, fields: Fields, rng: Random) -> None:
        code = _FENCE.sub(r"\1", fields[_FUNCTION])
        if fault := self._fault("function", rng):
            code = _spoil_function(code, fault)
        fields[_FUNCTION] = _fenced(code, self._fault("fence", rng))
        if fault := self._fault("criteria", rng):
            _fail_criterion(fields, fault, self._rates["words"]["inappropriate"], rng)

    def _written(self, fields: Fields, rng: Random) -> str:
        text = json.dumps(fields, ensure_ascii=False)
        match self._fault("block", rng):
            case "python_literal":
                return str(fields)
            case "missing_brace":
                return text[:-1]
            case "trailing_comma":
                return f"{text[:-1]},}}"
            case "truncated":
                return text[: int(len(text) * rng.uniform(0.4, 0.8))]
            case "refusal":
                return str(rng.choice(self._rates["words"]["refusals"]))
            case _:
                return text


def _broken(code: str, failure: str) -> str:
    """Returns the code with an error: a missing import, an undefined name or an open bracket."""
    assigned = _ASSIGNED.search(code)
    if failure == "missing_import" and "math." in code:
        return code.replace("import math\n", "", 1)
    if failure == "unknown_name" and assigned and _uses(code[assigned.end() :], assigned.group(1)):
        return f"{code[: assigned.end(1)]}_value{code[assigned.end(1) :]}"
    return f"{code}("


def _uses(code: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){name}(?!\w)", code) is not None


def _fenced(code: str, fence: str | None) -> str:
    match fence:
        case "single":
            return f"`python\n{code}\n`"
        case "double":
            return f"``python\n{code}\n``"
        case "repeats_python":
            return f"```python\n{code}\n```python"
        case "none":
            return code
        case _:
            return f"```python\n{code}\n```"


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


def _spoil_function(code: str, fault: str) -> str:
    """Returns the code changed such that it returns no number."""
    match fault:
        case "no_function":
            return code.replace("def solution():", "if True:").replace("return ", "answer = ")
        case "printed":
            return _RETURN.sub(r"print(\1)", code)
        case "listed":
            return _RETURN.sub(r"return [\1]", code)
        case "unknown_name":
            return _RETURN.sub(r"return \1_in_all", code)
        case _:
            return f"{code} +"


def _fail_criterion(fields: dict[str, Any], fault: str, sentences: list[str], rng: Random) -> None:
    """Changes the problem such that it fails one criterion."""
    question, function = fields["Problem"], fields["Python Function"]
    match fault:
        case "unsolvable":
            # The function uses a number that the text lacks.
            fields["Problem"] = _NUMBER.sub("some", question, count=1)
        case "inaccurate":
            fields["Python Function"] = _SIGN.sub(lambda sign: f" {_OTHER_SIGN[sign[1]]} ", function, count=1)
        case "inappropriate":
            fields["Problem"] = f"{rng.choice(sentences)} {question}"
        case "off_topic":
            # The first sentence sets the scene.
            fields["Problem"] = _SENTENCE.split(question, maxsplit=1)[-1]
