"""Imitates what is wrong with written problems, at the rates of noise.toml."""

import json
import re
from random import Random
from typing import Any

from soliloquy.recipes.scene import Scene
from soliloquy.runtime.files import table_beside
from soliloquy.standin.faults import Fields, Rates, fenced, unfenced
from soliloquy_papers.mathwell.commissions import commission_of

_FUNCTION = "Python Function"
_RETURN = re.compile(r"return (\w+)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SIGN = re.compile(r"(?<=\w) ([-+*/]) (?=\w)")
_OTHER_SIGN = {"+": "-", "-": "+", "*": "/", "/": "*"}

RATES = table_beside(__file__, "noise.toml")


def spoil_problem(answer: str, reading: Scene, rates: Rates, rng: Random) -> str:
    fields: Fields = json.loads(answer)
    code = unfenced(fields[_FUNCTION])
    if fault := rates.fault("function", rng):
        code = _spoil_function(code, fault)
    fields[_FUNCTION] = fenced(code, rates.fault("fence", rng))
    if fault := rates.fault("criteria", rng):
        topic = commission_of(reading.problem).topic
        _fail_criterion(fields, fault, topic, rates.words["inappropriate"], rng)
    return json.dumps(fields, ensure_ascii=False)


NOISE = {"mathwell/writing": spoil_problem}


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


def _fail_criterion(fields: dict[str, Any], fault: str, topic: str, sentences: list[str], rng: Random) -> None:
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
            # The first sentence names the topic, and may hold a number.
            first, *rest = _SENTENCE.split(question, maxsplit=1)
            kept = [first.replace(f" about {topic}", "")] if _NUMBER.search(first) else []
            fields["Problem"] = " ".join([*kept, *rest])
