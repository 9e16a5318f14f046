"""Reads a model's answers tolerantly and validates them against a schema."""

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import from_json, to_json

from soliloquy.runtime.files import table_beside
from soliloquy.runtime.tolerant_json import Truncated, kept_backslashes, kept_latex, objects_in

MAX_ANSWER_CHARACTERS = 64_000
# The closing quote is missing while the model still writes the string.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
# An escape or a LaTeX command that the model may still be writing.
_UNFINISHED = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[\da-fA-F]{0,3}|[A-Za-z]*)\Z")
# Two objects without a word between them: neither is called the final one.
_SIDE_BY_SIDE = re.compile(r"^\}[\s,;`]*^(?:```\w*\s*)?\{", re.MULTILINE)
# An object that is called another one's alternative, or that holds in one case only.
_EITHER = re.compile(
    r"\}[\s,;`]*^[*_# ]*(?:or|alternatively|otherwise|else|if|in case|option|version|alternative|variant)\b[^{}]*\{",
    re.MULTILINE | re.IGNORECASE,
)
# A brace that begins an object and not a group of LaTeX.
_BRACE = re.compile(r"(?:^|[\s`:])\{", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\s*(?:```\w*\s*)?(?:<[A-Za-z][^<>\n]*(?:>[\s,]*|$))+(?:```\s*)?")
_FENCE_END = re.compile(r"\n```\s*\Z")
_NOT_A_WORD = re.compile(r"[\W_]+")


class Unreadable(Exception):
    """The answer cannot be used; the message tells the model what to fix."""


class Fields(BaseModel):
    """Fields of an answer, whose names may come in another dress: "use_python", "**Use Python**"."""

    # A model that is constrained by the schema adds no fields; we ignore the fields that other models add.
    model_config = ConfigDict(frozen=True, populate_by_name=True, json_schema_extra={"additionalProperties": False})
    # The fields that hold code, in which "\t" is a tab and never LaTeX.
    code_fields: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _with_known_names(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        names = _names(cls)
        return {names.get(_bare(key), key): value for key, value in data.items()}


class Answer(Fields):
    """An answer in JSON. Validators accept the slips of real models and return the canonical form."""

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        """Returns the answer in a text, and whether the text was exactly what the prompt asked for.

        Of several objects the last that fits is the answer; another object may hold it, as in a tool call.
        """
        candidates, strict = _candidates(text, cls)
        problem = ""
        if len(candidates) > 1 and (_SIDE_BY_SIDE.search(text) or _EITHER.search(text)):
            raise Unreadable("it has several answers; write one")
        for data in reversed(candidates):
            try:
                answer = cls.model_validate(data)
            except ValidationError as error:
                problem = problem or _first_problem(error)
                inner = _fitting(cls, data)
                if len(inner) == 1:
                    return inner[0], False
            else:
                if copied := _copied(answer.model_dump()):
                    raise Unreadable(f"it repeats {copied[:80]!r} of the form; write your answer in its place")
                return answer, strict and answer.model_dump(by_alias=True, exclude_none=True) == data
        raise Unreadable(problem)

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


def is_placeholder(text: str) -> bool:
    """Whether a text is nothing but a part of the form that the prompt shows: "<number>", "<name>, <name>"."""
    return _PLACEHOLDER.fullmatch(text) is not None


def _copied(value: object) -> str:
    """Returns a text of the answer that is nothing but a part of the form; empty if there is none."""
    if isinstance(value, str):
        return value if is_placeholder(value) else ""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next(filter(None, map(_copied, parts)), "")


class PartlyUsable(Unreadable):
    """The answer cannot be used as it is, but what is left of it can, after the last try."""

    def __init__(self, reason: str, rest: Answer) -> None:
        super().__init__(reason)
        self.rest = rest


@functools.cache
def _keys(answer: type[BaseModel]) -> dict[str, str]:
    return {name: field.alias or name for name, field in answer.model_fields.items()}


@functools.cache
def _names(answer: type[BaseModel]) -> dict[str, str]:
    """Maps the bare name of each field to the name that the schema has."""
    return {_bare(key): key for key in _keys(answer).values()}


@functools.cache
def _json_schema(answer: type[Answer]) -> str:
    return json.dumps(answer.model_json_schema(by_alias=True))


@functools.lru_cache(1024)
def _bare(name: str) -> str:
    return _NOT_A_WORD.sub("", name).lower()


def _candidates(text: str, answer: type[Answer]) -> tuple[list[dict[str, Any]], bool]:
    """Returns the objects that may be the answer, and whether the text is one object in strict JSON."""
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise Unreadable(f"the answer is {len(text)} characters long; {MAX_ANSWER_CHARACTERS} are allowed")
    if not _BRACE.search(text) and (labelled := _labelled(text, answer)):
        return [labelled], False
    found, strict = _objects(text, kept_latex)
    if answer.code_fields and "\\" in text:
        code, _ = _objects(text, kept_backslashes)
        fields = frozenset(map(_bare, answer.code_fields))
        merged = [_with_code(one, other, fields) for one, other in zip(found, code, strict=False)]
        strict = strict and merged == code
        found = merged
    return found, strict


def _objects(text: str, write: Callable[[str], str]) -> tuple[list[dict[str, Any]], bool]:
    escaped = write(text)
    try:
        data = json.loads(escaped)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        return [data], escaped == text
    if isinstance(data, str):
        return _objects(data, write)[0], False
    found = list(objects_in(escaped))
    if not found:
        raise Unreadable("the answer is not valid JSON" if "{" in text else "the answer holds no JSON object")
    if isinstance(found[-1], Truncated):
        raise Unreadable(str(found[-1]))
    return [each for each in found if isinstance(each, dict)], False


def _with_code(prose: Any, code: Any, code_fields: frozenset[str]) -> Any:
    """Returns the object with its code as the other reading of the same text has it."""
    if not isinstance(prose, dict) or not isinstance(code, dict):
        return prose
    return {
        key: code[key] if _bare(key) in code_fields and key in code else _with_code(value, code.get(key), code_fields)
        for key, value in prose.items()
    }


def _fitting(answer: type[Answer], data: Any) -> list[Any]:
    """Returns the answers inside of an object."""
    found = []
    for inner in _inner(data):
        try:
            found.append(answer.model_validate(inner))
        except ValidationError:
            found += _fitting(answer, inner)
    return found


def _inner(data: Any) -> Iterator[dict[str, Any]]:
    for value in data.values() if isinstance(data, dict) else data:
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, dict))
        elif isinstance(value, str) and value.lstrip().startswith("{"):
            yield from (each for each in objects_in(value) if isinstance(each, dict))


def _labelled(text: str, answer: type[Answer]) -> dict[str, str]:
    """Reads fields in place of an object: headings, list items, rows of a table, or elements of XML."""
    elements, labels = _label_patterns(answer)
    if found := list(elements.finditer(text)):
        read = [(each["label"], each["value"]) for each in found]
    else:
        places = list(labels.finditer(text))
        ends = [*(place.start() for place in places), len(text)][1:]
        read = [(place["label"], text[place.end() : end]) for place, end in zip(places, ends, strict=True)]
    if len({_bare(label) for label, _ in read}) < len(read):
        return {}
    return {label: _FENCE_END.sub("", value).strip().strip("*_|").strip() for label, value in read}


@functools.cache
def _label_patterns(answer: type[Answer]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns patterns of elements, "<use_python>y</use_python>", and of labels, "**Use Python:** y"."""
    labels = "|".join(r"[ _-]".join(map(re.escape, key.split())) for key in _leaves(answer))
    element = rf"<(?P<label>{labels})>(?P<value>.*?)</(?P=label)>"
    label = rf"^[ \t#>*_|-]*(?:\d+[.)] *[*_]*)?(?P<label>{labels})[*_`\s]*(?:[:|][*_]*|$)"
    return re.compile(element, re.IGNORECASE | re.DOTALL), re.compile(label, re.IGNORECASE | re.MULTILINE)


def _leaves(fields: type[BaseModel]) -> Iterator[str]:
    """Yields the names of all fields that have no fields of their own."""
    for field in fields.model_fields.values():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind)
        else:
            yield field.alias or ""


def partial_field(text: str, field: str) -> str:
    """Returns as much of a text field as an unfinished object holds; empty where the object cannot be read yet."""
    text = kept_latex(_UNFINISHED.sub(r"\1", text[text.find("{") :]))
    try:
        data = from_json(_STRING.sub(_escaped, text), allow_partial="trailing-strings")
    except ValueError:
        return ""
    value = data.get(field) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


def _escaped(string: re.Match[str]) -> str:
    """Escapes line breaks and tabs, which models do not always do."""
    return string[0].replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    field = " > ".join(str(part) for part in problem["loc"]) or "the answer"
    return f"{field}: {problem['msg']}"


_PATTERNS = table_beside(__file__, "refusals.toml")["refusals"]
_REFUSAL = re.compile("|".join(_PATTERNS), re.IGNORECASE)
# A longer text is no refusal, whatever words it has.
_MAX_CHARACTERS = 600
# How much of it a message repeats.
_MAX_EXCERPT = 120


class Refusal(Unreadable):
    """The model declines to answer."""

    def __init__(self, words: str) -> None:
        super().__init__(f"the model refuses: {' '.join(words.split())[:_MAX_EXCERPT]!r}")


def is_refusal(text: str) -> bool:
    return len(text) <= _MAX_CHARACTERS and _REFUSAL.search(text.replace("’", "'")) is not None
