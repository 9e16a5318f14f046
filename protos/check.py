"""Compares the protobuf contract with the last release's and prints each change that would break a reader.

usage: check.py [RELEASED CURRENT]
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeVar

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

HERE = Path(__file__).parent
_RECIPES = "soliloquy.recipes."

T = TypeVar("T", DescriptorProto, EnumDescriptorProto)


def breaking_changes(released: Path, current: Path) -> Iterator[str]:
    old, new = _described(released), _described(current)
    old_messages, old_enums = _flattened(old)
    new_messages, new_enums = _flattened(new)
    for name, message in old_messages.items():
        if found := new_messages.get(name) or _moved(name, new_messages):
            yield from _field_changes(name, message, found)
        else:
            yield f"{name}: message removed"
    for name, enum in old_enums.items():
        if values := new_enums.get(name) or _moved(name, new_enums):
            yield from _value_changes(name, enum, values)
        else:
            yield f"{name}: enum removed"


def _moved(name: str, current: Mapping[str, T]) -> T | None:
    """Finds a message or an enum that moved from the contract into a recipe's labels."""
    last = name.rpartition(".")[2]
    found = (one for path, one in current.items() if path.startswith(_RECIPES) and path.endswith(f".{last}"))
    return next(found, None)


def _field_changes(name: str, old: DescriptorProto, new: DescriptorProto) -> Iterator[str]:
    kept = {field.number: field for field in new.field}
    reserved = {number for span in new.reserved_range for number in range(span.start, span.end)}
    for field in old.field:
        now = kept.get(field.number)
        if now is None:
            if field.number not in reserved:
                yield f"{name}.{field.name}: field {field.number} was removed without reserving its number"
        elif now.name != field.name:
            yield f"{name}.{field.name}: field {field.number} was renamed to {now.name}"
        elif _kind(now) != _kind(field):
            yield f"{name}.{field.name}: field {field.number} changed its type"


def _kind(field: FieldDescriptorProto) -> tuple[object, ...]:
    return field.type, field.type_name.rpartition(".")[2], field.label


def _value_changes(name: str, old: EnumDescriptorProto, new: EnumDescriptorProto) -> Iterator[str]:
    kept = {value.name: value.number for value in new.value}
    for value in old.value:
        if kept.get(value.name) != value.number:
            yield f"{name}.{value.name}: value {value.number} was removed or renumbered"


def _described(root: Path) -> FileDescriptorSet:
    files = sorted(str(path.relative_to(root)) for path in root.glob("soliloquy/**/*.proto"))
    labels = chain.from_iterable(
        root.parent.glob(f"{place}/*/labels.proto") for place in ("soliloquy/recipes", "papers")
    )
    files += sorted(str(path.relative_to(root.parent)) for path in labels)
    if not files:
        raise SystemExit(f"{root}: no .proto files to compare")
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "described"
        if protoc.main(["protoc", f"-I{root}", f"-I{root.parent}", f"--descriptor_set_out={described}", *files]):
            raise SystemExit(f"{root}: protoc failed; see its message above")
        return FileDescriptorSet.FromString(described.read_bytes())


def _flattened(described: FileDescriptorSet) -> tuple[dict[str, DescriptorProto], dict[str, EnumDescriptorProto]]:
    messages: dict[str, DescriptorProto] = {}
    enums: dict[str, EnumDescriptorProto] = {}

    def visit(prefix: str, message: DescriptorProto) -> None:
        name = f"{prefix}.{message.name}"
        messages[name] = message
        enums.update({f"{name}.{enum.name}": enum for enum in message.enum_type})
        for nested in message.nested_type:
            visit(name, nested)

    for file in described.file:
        enums.update({f"{file.package}.{enum.name}": enum for enum in file.enum_type})
        for message in file.message_type:
            visit(file.package, message)
    return messages, enums


def main() -> int:
    released, current = map(Path, sys.argv[1:]) if len(sys.argv) == 3 else (HERE / "released", HERE)
    changes = list(breaking_changes(released, current))
    for change in changes:
        print(f"protos: {change}", file=sys.stderr)
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
