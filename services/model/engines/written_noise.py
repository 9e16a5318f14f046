"""What is wrong with word problems as models write them: with the function that solves one, and with the story."""

import re
from random import Random
from typing import Any

_RETURN = re.compile(r"return (\w+)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SIGN = re.compile(r"(?<=\w) ([-+*/]) (?=\w)")
_OTHER_SIGN = {"+": "-", "-": "+", "*": "/", "/": "*"}


def without_function(code: str, fault: str) -> str:
    """The code with what keeps it from returning a number."""
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


def beside_criteria(fields: dict[str, Any], fault: str, sentences: list[str], rng: Random) -> None:
    """The problem with what makes it meet a criterion no longer."""
    question, function = fields["Problem"], fields["Python Function"]
    match fault:
        case "unsolvable":
            # A number that the function has and the text has not.
            fields["Problem"] = _NUMBER.sub("some", question, count=1)
        case "inaccurate":
            fields["Python Function"] = _SIGN.sub(lambda sign: f" {_OTHER_SIGN[sign[1]]} ", function, count=1)
        case "inappropriate":
            fields["Problem"] = f"{rng.choice(sentences)} {question}"
        case "off_topic":
            # Where the story takes place is said first.
            fields["Problem"] = _SENTENCE.split(question, maxsplit=1)[-1]
