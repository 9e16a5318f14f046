"""JSON schemas of the contract's messages, as protobuf writes them in JSON, with the comments of their files."""

import functools
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from pydantic import TypeAdapter

Schema = dict[str, Any]

_OPENS = re.compile(r"(message|enum|service) (\w+) \{")
_NAMES = re.compile(r"(?:rpc (\w+)|(?:repeated |optional )?(?:map<[^>]*>|[\w.]+) (\w+) = \d+|([A-Z]\w*) = \d+)")

_Field = FieldDescriptor
_SCALARS: Mapping[int, Schema] = {
    _Field.TYPE_BOOL: {"type": "boolean"},
    _Field.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    # JSON has no numbers for NaN and the infinities.
    _Field.TYPE_DOUBLE: {"oneOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    _Field.TYPE_INT32: {"type": "integer", "format": "int32"},
    # JavaScript's numbers hold fewer digits.
    _Field.TYPE_INT64: {"type": "string", "format": "int64", "pattern": r"^-?\d+$"},
    _Field.TYPE_STRING: {"type": "string"},
    _Field.TYPE_UINT64: {"type": "string", "format": "uint64", "pattern": r"^\d+$"},
}


class Schemas:
    """Collects the schemas of the referenced messages and of everything they contain."""

    def __init__(self) -> None:
        self.referenced: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a message, or of a type that pydantic reads."""
        if isinstance(kind, Descriptor):
            return self.reference(kind)
        schema = TypeAdapter(kind).json_schema(ref_template="#/components/schemas/{model}")
        self.referenced.update(schema.pop("$defs", {}))
        return schema

    def reference(self, described: Descriptor | EnumDescriptor) -> Schema:
        if described.name not in self.referenced:
            # Reserved first, because messages may contain themselves.
            self.referenced[described.name] = {}
            self.referenced[described.name] = (
                self._message(described) if isinstance(described, Descriptor) else _enum(described)
            )
        return {"$ref": f"#/components/schemas/{described.name}"}

    def field(self, field: FieldDescriptor) -> Schema:
        message = field.message_type
        if message and message.GetOptions().map_entry:
            return {"type": "object", "additionalProperties": self._one(message.fields_by_name["value"])}
        return {"type": "array", "items": self._one(field)} if field.is_repeated else self._one(field)

    def _one(self, field: FieldDescriptor) -> Schema:
        if described := field.message_type or field.enum_type:
            return self.reference(described)
        return dict(_SCALARS[field.type])

    def _message(self, described: Descriptor) -> Schema:
        properties = {
            field.name: {**self.field(field), **_description(f"{described.name}.{field.name}")}
            for field in described.fields
        }
        return {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            **_description(described.name),
        }


def _enum(described: EnumDescriptor) -> Schema:
    meanings = [
        f"{name}: {comment}"
        for name in described.values_by_name
        if (comment := comments().get(f"{described.name}.{name}"))
    ]
    return {
        "type": "string",
        "enum": list(described.values_by_name),
        **({"description": "\n".join(meanings)} if meanings else {}),
    }


def _description(name: str) -> Schema:
    comment = comments().get(name)
    return {"description": comment} if comment else {}


@functools.cache
def comments() -> dict[str, str]:
    """The comments of the contract's files, by "RunStatus" and "RunStatus.because"."""
    contract = files("soliloquy.v1")
    texts = [file.read_text("utf-8") for file in contract.iterdir() if file.name.endswith(".proto")]
    return {name: comment for text in texts for name, comment in _commented(text)}


def _commented(text: str) -> Iterator[tuple[str, str]]:
    within, comment = "", list[str]()
    for line in map(str.strip, text.splitlines()):
        if line.startswith("//"):
            comment.append(line.removeprefix("//").strip())
            continue
        if opened := _OPENS.match(line):
            within = opened[2]
            yield from [(within, " ".join(comment))] if comment else []
        elif (named := _NAMES.match(line)) and comment:
            yield f"{within}.{named[1] or named[2] or named[3]}", " ".join(comment)
        comment = []
