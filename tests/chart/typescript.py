"""Converts a generated TypeScript module's declarations to an OpenAPI schema, for the grammar that they use."""

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_TOKEN = re.compile(r'/\*.*?\*/|\s+|(?P<token>"[^"]*"|\w+|[^\w\s])', re.DOTALL)
_BASIC: dict[str, Schema] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "IObjectMeta": {"type": "object"},
}


def interface(text: str) -> Schema:
    """Converts the only interface that the module exports."""
    return _Declaration(text[text.index("export interface") :]).read()


class _Declaration:
    def __init__(self, text: str) -> None:
        self._tokens: Iterator[str] = (found["token"] for found in _TOKEN.finditer(text) if found["token"])
        self._next = next(self._tokens)

    def read(self) -> Schema:
        while self._next != "{":
            self._take()
        return self._object()

    def _take(self, expected: str = "") -> str:
        token, self._next = self._next, next(self._tokens, "")
        if expected and token != expected:
            raise ValueError(f"{token!r} where {expected!r} should be")
        return token

    def _object(self) -> Schema:
        properties: dict[str, Schema] = {}
        required = []
        others = None
        self._take("{")
        while self._next != "}":
            if self._next == "[":
                while self._take() != "]":
                    pass
                self._take(":")
                others = self._type()
            else:
                name = self._take().strip('"')
                if self._next == "?":
                    self._take()
                else:
                    required.append(name)
                self._take(":")
                properties[name] = self._type()
            self._take(";")
        self._take("}")
        schema: Schema = {"type": "object"}
        if properties:
            schema |= {"properties": properties} | ({"required": required} if required else {})
        elif others:
            schema["additionalProperties"] = others
        else:
            schema["x-kubernetes-preserve-unknown-fields"] = True
        return schema

    def _type(self) -> Schema:
        """Parses a union, or an object that requires one of several sets of fields."""
        union = [self._single()]
        while self._next in ("|", "&"):
            if self._take() == "|":
                union.append(self._single())
            else:
                self._take("(")
                union[-1]["anyOf"] = [{"required": one.get("required", [])} for one in self._alternatives()]
                self._take(")")
        if len(union) == 1:
            return union[0]
        if all("enum" in one for one in union):
            return {"type": "string", "enum": [value for one in union for value in one["enum"]]}
        if {one["type"] for one in union} == {"number", "string"}:
            return {"x-kubernetes-int-or-string": True}
        raise ValueError(f"a union of {union}")

    def _alternatives(self) -> list[Schema]:
        found = [self._object()]
        while self._next == "|":
            self._take()
            found.append(self._object())
        return found

    def _single(self) -> Schema:
        if self._next == "{":
            return self._object()
        token = self._take()
        if token == "Array":
            self._take("<")
            items = self._type()
            self._take(">")
            return {"type": "array", "items": items}
        if token.startswith('"'):
            return {"type": "string", "enum": [token.strip('"')]}
        return dict(_BASIC[token])
