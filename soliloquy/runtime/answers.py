"""Reads a model's answers tolerantly and validates them against a schema."""

import ast
import functools
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json, to_json

MAX_ANSWER_CHARACTERS = 64_000
# The closing quote is missing while the model still writes the string.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)


class Unreadable(Exception):
    """The answer cannot be used; the message tells the model what to fix."""


class Answer(BaseModel):
    """An answer in JSON. Validators accept the slips of real models and return the canonical form."""

    # A model that is constrained by the schema adds no fields; we ignore the fields that other models add.
    model_config = ConfigDict(frozen=True, populate_by_name=True, json_schema_extra={"additionalProperties": False})

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        """Returns the answer in a text, and whether the text was exactly what the prompt asked for."""
        data, strict = read_object(text)
        try:
            answer = cls.model_validate(data)
        except ValidationError as error:
            raise Unreadable(_first_problem(error)) from error
        return answer, strict and answer.model_dump(by_alias=True, exclude_none=True) == data

    @classmethod
    def written(cls, **values: Any) -> str:
        """Returns the canonical text of an answer, with only the whitespace that a grammar allows."""
        fields = {key: values[name] for name, key in _keys(cls).items() if values[name] is not None}
        # Five times as fast as `json.dumps`, and the bytes are the same.
        return to_json(fields).decode()

    @classmethod
    def json_schema(cls) -> str:
        """Returns the schema that constrains the model where an engine supports that; empty for free text."""
        return _json_schema(cls)


@functools.cache
def _keys(answer: type[Answer]) -> dict[str, str]:
    return {name: field.alias or name for name, field in answer.model_fields.items()}


@functools.cache
def _json_schema(answer: type[Answer]) -> str:
    return json.dumps(answer.model_json_schema(by_alias=True))


def read_object(text: str) -> tuple[dict[str, Any], bool]:
    """Returns the object that a text holds, and whether the text was strict JSON.

    Besides strict JSON, accepts prose or fences around the object, Python literals, trailing commas, missing closing
    braces and line breaks inside strings. Rejects a text that stops inside a string: it lacks content, not punctuation.
    """
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise Unreadable(f"the answer is {len(text)} characters long; {MAX_ANSWER_CHARACTERS} are allowed")
    as_asked = _loaded(json.loads, text)
    if as_asked is not None:
        return as_asked, True
    start = text.find("{")
    if start < 0:
        raise Unreadable("the answer holds no JSON object")
    candidate = _completed(text[start:])
    data = _loaded(partial(json.loads, strict=False), candidate) or _loaded(ast.literal_eval, candidate)
    if data is None:
        raise Unreadable("the answer is not valid JSON")
    return data, False


def partial_field(text: str, field: str) -> str:
    """Returns as much of a text field as an unfinished object holds; empty where the object cannot be read yet."""
    try:
        data = from_json(_STRING.sub(_escaped, text[text.find("{") :]), allow_partial="trailing-strings")
    except ValueError:
        return ""
    value = data.get(field) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


def _escaped(string: re.Match[str]) -> str:
    """Escapes line breaks and tabs, which models do not always do."""
    return string[0].replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _completed(text: str) -> str:
    """Returns the object at the start of the text, with trailing commas removed and all brackets closed."""
    characters: list[str] = []
    open_brackets: list[str] = []
    quote = ""
    escaped = False
    for character in text:
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "{[(":
            open_brackets.append({"{": "}", "[": "]", "(": ")"}[character])
        elif character in "}])":
            _drop_trailing_comma(characters)
            if open_brackets:
                open_brackets.pop()
        characters.append(character)
        if not open_brackets and not quote:
            return "".join(characters)
    if quote:
        raise Unreadable("the answer stops in the middle of a text")
    while characters and characters[-1] in " \n\r\t`":
        characters.pop()
    _drop_trailing_comma(characters)
    return "".join(characters) + "".join(reversed(open_brackets))


def _drop_trailing_comma(characters: list[str]) -> None:
    position = len(characters) - 1
    while position >= 0 and characters[position].isspace():
        position -= 1
    if position >= 0 and characters[position] == ",":
        del characters[position]


def _loaded(load: Callable[[str], Any], text: str) -> dict[str, Any] | None:
    try:
        data = load(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    field = " > ".join(str(part) for part in problem["loc"]) or "the answer"
    return f"{field}: {problem['msg']}"
