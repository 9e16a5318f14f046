"""Writes the schema of an answer in the forms that endpoints take, the strongest first."""

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from soliloquy.runtime.model.dialects import Dialect

# The field that holds an answer whose schema is a union, where the root must be an object.
FIELD = "answer"
# Keywords that every dialect takes.
_CORE = {"type", "properties", "required", "additionalProperties", "enum", "items", "anyOf", "$ref", "$defs", "title"}
_CORE |= {"description"}
# Keywords whose value maps names to schemas, or lists schemas.
_NAMED, _LISTED = ("properties", "$defs"), ("anyOf", "oneOf", "allOf", "prefixItems")
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}

Schema = Mapping[str, Any]


class Shape(NamedTuple):
    name: str
    schema: Schema
    # The fields that are null where the schema has none.
    nullable: Sequence[str]


def shapes_of(schema: Schema, dialect: Dialect) -> Sequence[Shape]:
    """Returns the ways to write a schema, the best first: with a union as the dialect takes it, with fewer keywords."""
    plain, bare = written(schema, dialect.without_keywords), written(schema, None)
    optional = [name for part in parts_of(schema) if "properties" in part for name in _optional(part)]
    if "anyOf" not in schema:
        return [Shape("whole", plain, optional), Shape("bare", bare, optional)]
    merged, lacking = _merged(plain)
    ways = {
        "whole": Shape("whole", plain, optional),
        "nested": Shape("nested", _nested(plain), optional),
        "merged": Shape("merged", merged, [*optional, *lacking]),
    }
    return [*(ways[way] for way in dialect.unions), Shape("bare merged", _merged(bare)[0], [*optional, *lacking])]


def written(schema: Any, without: frozenset[str] | None) -> Any:
    """Returns a schema without some keywords, or with the core ones only.

    Each part tells its type. An object has all of its keys and no others; one that it may lack is null.
    """
    if isinstance(schema, list):
        return [written(each, without) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _NAMED:
            made[keyword] = {name: written(each, without) for name, each in value.items()}
        elif keyword == "const" and (without is None or "const" in without):
            made["enum"] = [value]
        elif keyword in _CORE or (without is not None and keyword not in without):
            # Few engines know all classes of characters.
            made[keyword] = value.replace(r"\d", "[0-9]") if keyword == "pattern" else written(value, without)
    values = made.get("enum") or ([made["const"]] if "const" in made else [])
    if values and "type" not in made and len(types := {_TYPES[type(value)] for value in values}) == 1:
        made["type"] = types.pop()
    if fields := made.get("properties"):
        optional = _optional(schema)
        made["properties"] = {name: _or_null(each) if name in optional else each for name, each in fields.items()}
        made |= {"required": list(fields), "additionalProperties": False}
    return made


def _optional(schema: Schema) -> Sequence[str]:
    return [name for name in schema["properties"] if name not in schema.get("required", ())]


def _or_null(schema: Schema) -> Schema:
    null = {"type": "null"}
    return schema if null in schema.get("anyOf", ()) else {"anyOf": [schema, null]}


def _nested(schema: Schema) -> Schema:
    named = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    inner = {keyword: value for keyword, value in schema.items() if keyword not in ("$defs", "type")}
    return {
        "type": "object",
        "properties": {FIELD: inner},
        "required": [FIELD],
        "additionalProperties": False,
        **named,
    }


def _merged(schema: Schema) -> tuple[Schema, Sequence[str]]:
    """Returns one object with the fields of all, and the fields that some of them lack, which may be null."""
    kinds: Sequence[Schema] = schema["anyOf"]
    fields: dict[str, list[Schema]] = {}
    for kind in kinds:
        for name, field_schema in kind["properties"].items():
            fields.setdefault(name, []).append(field_schema)
    nullable = tuple(name for name, found in fields.items() if len(found) < len(kinds))
    properties = {
        name: _or_null(_either(found)) if name in nullable else _either(found) for name, found in fields.items()
    }
    rest = {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}
    merged = {"type": "object", "properties": properties, "required": list(fields), "additionalProperties": False}
    return rest | merged, nullable


def _either(schemas: Sequence[Schema]) -> Schema:
    distinct = list({json.dumps(each, sort_keys=True): each for each in schemas}.values())
    if len(distinct) == 1:
        return distinct[0]
    values = [each.get("enum", [each["const"]] if "const" in each else None) for each in distinct]
    if any(found is None for found in values):
        return {"anyOf": distinct}
    every = list(dict.fromkeys(value for found in values for value in found))
    return {**{keyword: value for keyword, value in distinct[0].items() if keyword != "const"}, "enum": every}


def parts_of(schema: Schema) -> Iterator[Schema]:
    """Yields each schema inside of a schema."""
    yield schema
    for keyword, value in schema.items():
        inner = value.values() if keyword in _NAMED else value if keyword in _LISTED else ()
        for each in [value] if keyword == "items" else inner:
            yield from parts_of(each)


_OPENING = re.compile(rf'\s*\{{\s*"{FIELD}"\s*:\s*(?=\{{)')
_CLOSING = re.compile(r"\s*\}\s*\Z")

# The names in log lines for the ways to send a schema.
_KINDS = {
    "strict": "a strict schema",
    "loose": "a schema that is not enforced",
    "object_schema": "a schema of JSON mode",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaForm:
    """One way to ask for an answer, and to read it as if it had been asked for by the schema itself."""

    # A few words for a log line.
    name: str
    # The value of response_format; None to send none.
    response_format: Schema | None = None
    nested: bool = False
    # Fields that are null where the schema has none.
    nullable: Sequence[str] = ()

    def read(self, text: str) -> str:
        """Returns the answer as the schema has it, with every other character as it came."""
        if self.nested and (opening := _OPENING.match(text)) and (closing := _CLOSING.search(text)):
            return text[opening.end() : closing.start()]
        for name in self.nullable:
            empty = rf"{re.escape(json.dumps(name))}\s*:\s*null"
            text = re.sub(rf"\s*,\s*{empty}(?=\s*[,}}])|(?<=\{{)\s*{empty}\s*,\s*", "", text)
        return text

    def receiver(self, receive: Callable[[str], None]) -> Callable[[str], None]:
        """Receives the chunks of a nested answer without the field around it."""
        return _Unnesting(receive) if self.nested else receive


AS_WRITTEN = SchemaForm(name="no schema")


class _Unnesting:
    def __init__(self, receive: Callable[[str], None]) -> None:
        self._receive = receive
        self._waiting = ""
        self._began = False

    def __call__(self, piece: str) -> None:
        text = self._waiting + piece
        if not self._began:
            opening = _OPENING.match(text)
            if not opening and len(text) <= 2 * len(FIELD) + 10:
                self._waiting = text
                return
            self._began, text = True, text[opening.end() :] if opening else text
        # A brace at the end may be the one of the field.
        closing = _CLOSING.search(text)
        self._waiting = text[closing.start() :] if closing else ""
        if ready := text[: closing.start()] if closing else text:
            self._receive(ready)


@functools.lru_cache(512)
def forms_of(schema: str, name: str, strongest: str, dialect: Dialect) -> Sequence[SchemaForm]:
    """Returns the forms to try, of which the last asks for nothing. `strongest` is the settings' choice."""
    if not schema or strongest == "none":
        return (AS_WRITTEN,)
    forms: list[SchemaForm] = []
    for kind in dialect.forms:
        if strongest == "json_object" and kind != "object":
            continue
        shapes = shapes_of(json.loads(schema), dialect)
        forms += [_form(kind, name, shape) for shape in (shapes if kind == "strict" else shapes[:1])]
    distinct = {json.dumps(form.response_format): form for form in reversed(forms)}
    return (*reversed(distinct.values()), AS_WRITTEN)


def _form(kind: str, name: str, shape: Shape) -> SchemaForm:
    if kind == "object":
        return SchemaForm(name="any JSON object", response_format={"type": "json_object"})
    if kind == "object_schema":
        response_format: dict[str, Any] = {"type": "json_object", "schema": shape.schema}
    else:
        named = {"name": re.sub(r"[^\w-]", "_", name, flags=re.ASCII)[:64] or "answer", "schema": shape.schema}
        strict = {"strict": True} if kind == "strict" else {}
        response_format = {"type": "json_schema", "json_schema": named | strict}
    return SchemaForm(
        name=f"{_KINDS[kind]} ({shape.name})",
        response_format=response_format,
        nested=shape.name == "nested",
        nullable=tuple(shape.nullable),
    )
