"""The JSON fields in which the tutor of the recipe `soliloquy` calculates and replies."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from soliloquy.dataset.exports.dialogue import Attempt, Exchange
from soliloquy.dataset.exports.format import ExportOptions, text_of
from soliloquy.runtime.code import names, unfenced

THOUGHTS = "Thoughts of Tutorbot"
EVALUATION = "Evaluation of Student Response"
ACTION = "Action Based on Evaluation"
STEP = "Step Number"
STATE = "Step State"
RESPONSE = "Tutorbot Response"
SIX = (THOUGHTS, EVALUATION, ACTION, STEP, STATE, RESPONSE)
_ACTION_TOO = "Action Based on the Evaluation"
_FENCE, _END = "```python\n", "\n```"


def six_fields(turn: Exchange) -> dict[str, str]:
    """Returns the six fields of a reply; unknown ones are empty."""
    return {
        THOUGHTS: turn.thoughts,
        EVALUATION: turn.evaluation,
        ACTION: str(turn.action or ""),
        STEP: str(turn.step or ""),
        STATE: turn.state,
        RESPONSE: turn.reply or "",
    }


def reply_text(turn: Exchange, choice: ExportOptions) -> str:
    """Returns the reply with its thoughts as JSON, or only the text that the student sees."""
    return json_text(six_fields(turn)) if choice.thoughts and not turn.is_plain else turn.reply or ""


def read_reply(text: str) -> dict[str, Any]:
    """Returns the fields of an Exchange that a reply holds."""
    fields = _object(text)
    return read_six(fields) if fields.keys() >= {*SIX} else {"reply": text}


def read_six(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Accepts codes as real data has them: "g) N/A", "Step 2", "4b"."""
    return {
        "thoughts": text_of(fields, THOUGHTS),
        "evaluation": _letter(fields, EVALUATION, "abcdefg"),
        "action": _number(fields, ACTION if ACTION in fields else _ACTION_TOO),
        "step": _number(fields, STEP),
        "state": _letter(fields, STATE, "pqrt"),
        "reply": text_of(fields, RESPONSE),
    }


def program(attempt: Attempt) -> dict[str, str]:
    return {
        "Python Code": f"{_FENCE}{attempt.code}{_END}",
        "Result Variable": ", ".join(attempt.result_variables),
    }


def read_program(fields: Mapping[str, Any], output: str = "") -> Attempt:
    code, variables = text_of(fields, "Python Code"), text_of(fields, "Result Variable")
    if code.startswith(_FENCE) and code.endswith(_END) and len(code) >= len(_FENCE + _END):
        code = code[len(_FENCE) : -len(_END)]
    else:
        code = unfenced(code)
    return Attempt(code=code, result_variables=_variables(variables), output=output)


def json_text(fields: Mapping[str, Any]) -> str:
    return to_json(fields).decode()


def _variables(text: str) -> Sequence[str]:
    exact = text.split(", ")
    return exact if all(map(str.isidentifier, exact)) else names(text)


def _letter(fields: Mapping[str, Any], name: str, known: str) -> str:
    found = re.match(r"\W*([A-Za-z])(?![A-Za-z])", text_of(fields, name))
    return found[1].lower() if found and found[1].lower() in known else ""


def _number(fields: Mapping[str, Any], name: str) -> int:
    found = re.search(r"\d{1,9}", text_of(fields, name))
    return int(found[0]) if found else 0


def _object(text: str) -> dict[str, Any]:
    if not text.startswith("{"):
        return {}
    try:
        value = from_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
