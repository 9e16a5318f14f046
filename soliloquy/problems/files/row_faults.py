"""Says in plain words what is wrong with a field of a problem."""

import json

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from soliloquy.problems.files.problem_from_row import BadField
from soliloquy.problems.files.problem_row import ProblemRow, StepRow
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.runtime.failure import did_you_mean

_LONGEST, _MOST_NAMES = 40, 8
_FIELDS = (*ProblemRow.model_fields, *StepRow.model_fields)
_NO_OBJECT = "{value} is not {example}"
_EXAMPLES = {
    "ProblemRow": 'an object, such as {"question": "..", "solution": ".."}',
    "StepRow": 'an object, such as {"explanation": ".."}',
    "AnswerRow": 'a number with its unit, such as 2.5, "2.5 m" or {"value": 2.5, "unit": "m"}',
    "InputRow": 'an object, such as {"symbol": "m", "value": 20, "unit": "kg"}',
    "ResultRow": 'an object, such as {"symbol": "F", "unit": "N"}',
    "SlipRow": 'an object, such as {"working": "..", "value": 2.5}',
}
# By pydantic's name of the fault; `value` is what the file has, the rest is pydantic's context.
_WORDS = {
    "missing": "is missing{present}",
    "string_type": '{value} is not a text: write it in "double quotes"',
    "string_too_short": "is empty",
    "string_too_long": "has more than {max_length:,} characters",
    "float_type": "{value} is not a number{unquoted}",
    "int_type": "{value} is not a whole number{unquoted}",
    "greater_than": "{value} is too small: use more than {gt:g}",
    "greater_than_equal": "{value} is too small: use at least {ge:g}",
    "less_than_equal": "{value} is too large: use at most {le:g}",
    "list_type": "{value} is not a list in [brackets]",
    "too_short": "is an empty list: leave the field out",
    "model_type": _NO_OBJECT,
    "model_attributes_type": _NO_OBJECT,
    "dict_type": _NO_OBJECT,
    "literal_error": "{value} is none of {expected}",
    "extra_forbidden": "is not a field of a problem file{near}",
}


def refusal(place: str, error: ValidationError | BadField) -> RefusedRow:
    """Returns the field and the reason of the first error of a row, in one line."""
    if isinstance(error, BadField):
        field, reason = error.field, error.reason
    else:
        first = error.errors(include_url=False)[0]
        field, reason = ".".join(map(str, first["loc"])) or "text", _reason(first)
    return RefusedRow(place=place, field=" ".join(field.split()), reason=" ".join(reason.split()))


def _reason(fault: ErrorDetails) -> str:
    if fault["type"] not in _WORDS:
        return fault["msg"].removeprefix("Value error, ")
    value = json.dumps(fault["input"], ensure_ascii=False, default=str)
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}.."
    unquoted = ": remove the quotes" if isinstance(fault["input"], str) else ""
    near = did_you_mean(str(fault["loc"][-1]), _FIELDS) if fault["loc"] else ""
    near = near or "; put it under extra, or remove it"
    names = [*fault["input"]][:_MOST_NAMES] if isinstance(fault["input"], dict) else []
    present = f"; there are: {', '.join(map(repr, names))}" if names else ""
    context = fault.get("ctx", {})
    example = _EXAMPLES.get(context.get("class_name", ""), 'an object, such as {"name": value}')
    parts = {"value": shown, "unquoted": unquoted, "near": near, "present": present, "example": example}
    return _WORDS[fault["type"]].format(**parts, **context)
