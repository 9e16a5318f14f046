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


class _Label(NamedTuple):
    """The place of a label in exported JSON."""

    key: str
    number: bool = False
    codes: Mapping[str, str] = {}


class _Keys(NamedTuple):
    """The keys of a reply in exported JSON, in their order."""

    thoughts: str
    evaluation: str
    labels: Mapping[str, _Label]
    text: str

    def all(self) -> set[str]:
        return {self.thoughts, self.evaluation, self.text, *(label.key for label in self.labels.values())}


@cache
def _keys(recipe: str) -> _Keys:
    columns = columns_of(recipe)

    def key(name: str) -> str:
        column = columns.get(name) or Column(title=name.partition(".")[2].replace("_", " "))
        return column.key or column.title

    labels = {
        name: _Label(
            key(name), field.cpp_type == FieldDescriptor.CPPTYPE_INT32, columns[name].codes if name in columns else {}
        )
        for name, field in labels_of(recipe).values()
        if name.startswith("tutor.")
    }
    return _Keys(key("tutor.thoughts"), key("tutor.evaluation"), labels, key("tutor.text"))


def reply_key(recipe: str) -> str:
    """Returns the key of the text that the student sees."""
    return _keys(recipe).text


def reply_fields(turn: Exchange, recipe: str) -> dict[str, str]:
    """Returns the fields of a reply; unknown ones are empty."""
    keys, labels = _with_labels(recipe, *turn.labels.items())
    return {keys.thoughts: turn.thoughts, keys.evaluation: turn.evaluation, **labels, keys.text: turn.reply or ""}


@lru_cache(maxsize=1024)
def _with_labels(recipe: str, *labels: tuple[str, Any]) -> tuple[_Keys, Mapping[str, str]]:
    """Returns the recipe's keys, and these labels by key; cached because few combinations occur."""
    values, keys = dict(labels), _keys(recipe)
    return keys, {
        label.key: str(label.codes.get(value := values.get(name, ""), value)) for name, label in keys.labels.items()
    }


def reply_text(turn: Exchange, choice: ExportOptions, recipe: str) -> str:
    """Returns the reply with its thoughts as JSON, or only the text that the student sees."""
    return json_text(reply_fields(turn, recipe)) if choice.thoughts and not turn.is_plain else turn.reply or ""


def read_reply(text: str) -> tuple[dict[str, Any], str]:
    """Returns the fields of an Exchange that a reply holds, and its recipe unless that is the default one."""
    fields = json_object(text)
    if fields and fields.keys() >= _keys(DEFAULT).all():
        return read_fields(fields, DEFAULT), ""
    for recipe in known_recipes() if fields else ():
        if fields.keys() == _keys(recipe).all():
            return read_fields(fields, recipe), recipe
    return {"reply": text}, ""


def read_fields(fields: Mapping[str, Any], recipe: str) -> dict[str, Any]:
    """Accepts codes as real data has them: "g) N/A", "Step 2", "4b"."""
    keys = _keys(recipe)
    labels = {name: _value(fields, label) for name, label in keys.labels.items()}
    return {
        "thoughts": text_of(fields, keys.thoughts),
        "evaluation": _letter(fields, keys.evaluation, _LETTERS),
        "reply": text_of(fields, keys.text),
        "labels": {name: value for name, value in labels.items() if value},
    }


def _value(fields: Mapping[str, Any], label: _Label) -> str | int:
    if label.number:
        return _number(fields, label.key)
    if not label.codes:
        return text_of(fields, label.key)
    words = {code: word for word, code in label.codes.items()}
    return words.get(_letter(fields, label.key, "".join(words)), "")


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
    except (ValueError, TypeError):  # The latter for a lone surrogate.
        return {}
    return value if isinstance(value, dict) else {}
