"""Writes the schema of an answer in the forms that endpoints take, the strongest first."""

import functools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from soliloquy.runtime.model.dialects import Dialect
from soliloquy.runtime.model.schema_shapes import FIELD, Schema, Shape, shapes_of

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
