"""Messages of the contract as JSON schemas, the way that protobuf writes them as JSON."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from services.gateway.http.written import comments

Schema = dict[str, Any]

_Field = FieldDescriptor
_REPEATED = True
_SCALARS: Mapping[int, Schema] = {
    _Field.TYPE_BOOL: {"type": "boolean"},
    _Field.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    # What JSON has no number for is written as a text.
    _Field.TYPE_DOUBLE: {"oneOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    _Field.TYPE_INT32: {"type": "integer", "format": "int32"},
    # More than JavaScript's numbers hold.
    _Field.TYPE_INT64: {"type": "string", "format": "int64", "pattern": r"^-?\d+$"},
    _Field.TYPE_STRING: {"type": "string"},
    _Field.TYPE_UINT64: {"type": "string", "format": "uint64", "pattern": r"^\d+$"},
}


class Schemas:
    """Of those that were asked for, and of all that they are made of."""

    def __init__(self) -> None:
        self.found: dict[str, Schema] = {}

    def reference(self, described: Descriptor | EnumDescriptor) -> Schema:
        if described.name not in self.found:
            # Its place first: messages may hold themselves.
            self.found[described.name] = {}
            self.found[described.name] = (
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
            field.name: {**self.field(field), **_said(f"{described.name}.{field.name}")} for field in described.fields
        }
        return {"type": "object", "properties": properties, "additionalProperties": False, **_said(described.name)}


def _enum(described: EnumDescriptor) -> Schema:
    meanings = [
        f"{name}: {said}" for name in described.values_by_name if (said := comments().get(f"{described.name}.{name}"))
    ]
    return {
        "type": "string",
        "enum": list(described.values_by_name),
        **({"description": "\n".join(meanings)} if meanings else {}),
    }


def _said(name: str) -> Schema:
    said = comments().get(name)
    return {"description": said} if said else {}
