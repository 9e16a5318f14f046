"""What a request says, as the message that it is to be; every refusal names the field."""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from services.gateway.refusals import Code, Refusal

MOST_BODY_BYTES = 1024**2
# A body that takes longer to come is not waited for.
BODY_SECONDS = 10.0
_LONGEST = 80
_BOOLEANS = {"true": True, "false": False}
_WHOLE = re.compile(r"-?[0-9]{1,20}")
# Of characters that take two in JSON; alone they are none.
_HALVES = re.compile("[\ud800-\udfff]")
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}

Json = dict[str, Any]


class TooSlow(Exception):
    """The body did not come in time."""


async def read_body(request: Request, most_bytes: int = MOST_BODY_BYTES) -> Json:
    """A JSON object; empty where nothing was sent. What is too long is refused before it is read."""
    if not (content := await _content(request, most_bytes)):
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise _invalid(f"the body is {kind[:_LONGEST] or 'of no type'}: send application/json")
    try:
        body = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"the body is no JSON ({error})") from error
    if not isinstance(body, dict):
        raise _invalid(f"the body is {type(body).__name__}: send a JSON object")
    return body


def parsed(descriptor: Descriptor, body: Json, path: Mapping[str, str], query: QueryParams | None = None) -> Message:
    """The message of a body's and a path's fields, and of a query's."""
    asked = {**body, **(_of_query(descriptor, path, query) if query else {})}
    if twice := asked.keys() & path.keys():
        raise _invalid(f"{min(twice)} is in the path: leave it out elsewhere")
    _check(descriptor, asked, "")
    message: Message = GetMessageClass(descriptor)()
    return ParseDict({**asked, **path}, message)


async def _content(request: Request, most_bytes: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most_bytes:
        raise _too_large(most_bytes)
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > most_bytes:
                    raise _too_large(most_bytes)
    except TimeoutError:
        raise TooSlow(f"the body did not come within {BODY_SECONDS:g} s") from None
    except ClientDisconnect:
        raise TooSlow("the body ended before its end") from None
    return bytes(content)


def _too_large(most_bytes: int) -> Refusal:
    return Refusal(Code.TOO_LARGE, f"the body is too long: at most {most_bytes} bytes are read")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _of_query(descriptor: Descriptor, path: Mapping[str, str], query: QueryParams) -> Json:
    asked: Json = {}
    for name, value in query.multi_items():
        field = descriptor.fields_by_name.get(name)
        if field is None or name in path:
            known = [each for each in descriptor.fields_by_name if each not in path]
            raise _invalid(f"there is no {name[:_LONGEST]!r} to ask for: {_listed(known)}")
        if name in asked:
            raise _invalid(f"{name} is given twice: once is enough")
        asked[name] = _BOOLEANS.get(value, value) if field.type == FieldDescriptor.TYPE_BOOL else value
    return asked


def _check(descriptor: Descriptor, given: Json, within: str) -> None:
    """Protobuf takes fields by two names each, and says of wrong ones what no user of JSON understands."""
    for name, value in given.items():
        place, field = f"{within}.{name}".strip("."), descriptor.fields_by_name.get(name)
        if field is None:
            of = f" of {within}" if within else ""
            raise _invalid(
                f"there is no field {place[:_LONGEST]!r}: those{of} are {_listed(list(descriptor.fields_by_name))}"
            )
        if field.message_type:
            if not isinstance(value, dict):
                raise _invalid(f"{place} is {_shown(value)}: send an object")
            _check(field.message_type, value, place)
        elif not _fits(field, value):
            raise _invalid(f"{place} is {_shown(value)}: {_wanted(field)}")


def _fits(field: FieldDescriptor, value: Any) -> bool:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return isinstance(value, bool)
        case FieldDescriptor.CPPTYPE_STRING:
            return isinstance(value, str) and not _HALVES.search(value)
        case FieldDescriptor.CPPTYPE_ENUM:
            return value in _names(field)
        case kind:
            least, most = _RANGES[kind]
            # Protobuf writes long ones as texts.
            text = "" if isinstance(value, bool) else str(value)
            return bool(_WHOLE.fullmatch(text)) and least <= int(text) <= most


def _wanted(field: FieldDescriptor) -> str:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return "write true or false"
        case FieldDescriptor.CPPTYPE_STRING:
            return "write a text"
        case FieldDescriptor.CPPTYPE_ENUM:
            return f"it is one of {_listed(_names(field))}"
        case kind:
            least, most = _RANGES[kind]
            return f"write a whole number, not below {least} or above {most}"


def _names(field: FieldDescriptor) -> list[str]:
    assert field.enum_type
    return list(field.enum_type.values_by_name)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}.."


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _invalid(message: str) -> Refusal:
    return Refusal(Code.INVALID, message)
