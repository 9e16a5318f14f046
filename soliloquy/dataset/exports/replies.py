"""The JSON in which exports write what the tutor calculates and replies."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from pydantic_core import from_json, to_json

from soliloquy.dataset.exports.dialogue import Attempt, Exchange
from soliloquy.dataset.exports.format import ExportOptions, text_of
from soliloquy.recipes.labels import Column, columns_of, labels_of
from soliloquy.recipes.packages import DEFAULT, known_recipes
from soliloquy.runtime.code import names, unfenced

_FENCE, _END = "```python\n", "\n```"
_LETTERS = "abcdefg"


class _Key(NamedTuple):
    """The place of a reply's field in exported JSON."""

    key: str
    number: bool = False
    codes: Mapping[str, str] = {}


@cache
def _keys(recipe: str) -> Mapping[str, _Key]:
    """Returns the keys of the tutor's thoughts, evaluation, labels and text, in this order."""
    labels = {name: field for name, field in labels_of(recipe).values() if name.startswith("tutor.")}
    columns = columns_of(recipe)
    keys = {}
    for name in ("tutor.thoughts", "tutor.evaluation", *labels, "tutor.text"):
        column = columns.get(name) or Column(title=name.partition(".")[2].replace("_", " "))
        number = name in labels and labels[name].cpp_type == FieldDescriptor.CPPTYPE_INT32
        keys[name] = _Key(column.key or column.title, number, column.codes)
    return keys


def reply_key(recipe: str) -> str:
    """Returns the key of the text that the student sees."""
    return _keys(recipe)["tutor.text"].key


def reply_fields(turn: Exchange, recipe: str) -> dict[str, str]:
    """Returns the fields of a reply; unknown ones are empty."""
    keys = _keys(recipe)
    return {
        keys["tutor.thoughts"].key: turn.thoughts,
        keys["tutor.evaluation"].key: turn.evaluation,
        **_label_fields(recipe, *turn.labels.items()),
        keys["tutor.text"].key: turn.reply or "",
    }


@lru_cache(maxsize=1024)
def _label_fields(recipe: str, *labels: tuple[str, Any]) -> Mapping[str, str]:
    """Cached because few combinations of labels occur."""
    values, [_, _, *keys, _] = dict(labels), _keys(recipe).items()
    return {key.key: str(key.codes.get(value := values.get(name, ""), value)) for name, key in keys}


def reply_text(turn: Exchange, choice: ExportOptions, recipe: str) -> str:
    """Returns the reply with its thoughts as JSON, or only the text that the student sees."""
    return json_text(reply_fields(turn, recipe)) if choice.thoughts and not turn.is_plain else turn.reply or ""


def read_reply(text: str) -> tuple[dict[str, Any], str]:
    """Returns the fields of an Exchange that a reply holds, and its recipe unless that is the default one."""
    fields = json_object(text)
    if fields and fields.keys() >= {key.key for key in _keys(DEFAULT).values()}:
        return read_fields(fields, DEFAULT), ""
    for recipe in known_recipes() if fields else ():
        if fields.keys() == {key.key for key in _keys(recipe).values()}:
            return read_fields(fields, recipe), recipe
    return {"reply": text}, ""


def read_fields(fields: Mapping[str, Any], recipe: str) -> dict[str, Any]:
    """Accepts codes as real data has them: "g) N/A", "Step 2", "4b"."""
    keys = dict(_keys(recipe))
    thoughts, evaluation, reply = (keys.pop(f"tutor.{name}").key for name in ("thoughts", "evaluation", "text"))
    labels = {name: _value(fields, key) for name, key in keys.items()}
    return {
        "thoughts": text_of(fields, thoughts),
        "evaluation": _letter(fields, evaluation, _LETTERS),
        "reply": text_of(fields, reply),
        "labels": {name: value for name, value in labels.items() if value},
    }


def _value(fields: Mapping[str, Any], key: _Key) -> str | int:
    if key.number:
        return _number(fields, key.key)
    if not key.codes:
        return text_of(fields, key.key)
    words = {code: word for word, code in key.codes.items()}
    return words.get(_letter(fields, key.key, "".join(words)), "")


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


def json_object(text: str) -> dict[str, Any]:
    """Returns the fields of a JSON object; empty for any other text."""
    if not text.startswith("{"):
        return {}
    try:
        value = from_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
