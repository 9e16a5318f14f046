"""Parses a request's body, path and query into a message; every refusal names the field."""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from pydantic import AfterValidator, BaseModel, ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from soliloquy.problems.files.reading.json_rows import NotJson, parse_json
from soliloquy.truth.locales import languages
from soliloquy_services.gateway.refusals import Code, Refusal

MOST_BODY_BYTES = 1024**2
BODY_SECONDS = 10.0
_LONGEST = 80
_OBJECT = 'send a JSON object, such as {"name": "value"}'
_BOOLEANS = {"true": True, "false": False}
_WHOLE = re.compile(r"-?[0-9]{1,20}")
# Surrogates, which are characters only in pairs.
_SURROGATES = re.compile("[\ud800-\udfff]")
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


def _known_language(language: str) -> str:
    if language not in ("", *languages()):
        raise ValueError(f"use one of {', '.join(languages())}, or none for English")
    return language


Json = dict[str, Any]
KnownLanguage = Annotated[str, AfterValidator(_known_language)]
Body = TypeVar("Body", bound=BaseModel)


class BodyTooSlow(Exception):
    """The body did not arrive in time."""


async def read_body(request: Request, most_bytes: int = MOST_BODY_BYTES) -> Json:
    """Returns a JSON object, empty for an empty body; refuses a long body before reading it."""
    if not (content := await _content(request, most_bytes)):
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise _invalid(f"the body's type is {kind[:_LONGEST] or 'missing'}: send application/json")
    try:
        body = parse_json(content.decode(), finite=True)
    except UnicodeDecodeError as error:
        raise _invalid(f"the body is not UTF-8 (byte {error.start + 1}): {_OBJECT}") from error
    except NotJson as error:
        raise _invalid(f"the body: {error}") from error
    if not isinstance(body, dict):
        raise _invalid(f"the body is {_shown(body)}: {_OBJECT}")
    return body


def parse_message(
    descriptor: Descriptor, body: Json, path: Mapping[str, str], query: QueryParams | None = None
) -> Message:
    """Builds a message from the fields of a body, a path and a query."""
    fields = {**body, **(_query_fields(descriptor, path, query) if query else {})}
    if twice := fields.keys() & path.keys():
        raise _invalid(f"{min(twice)} is in the path: do not send it elsewhere too")
    _check(descriptor, fields, "")
    message: Message = GetMessageClass(descriptor)()
    return ParseDict({**fields, **path}, message)


def parse_body(kind: type[Body], body: Json) -> Body:
    """Raises a Refusal that names the invalid field."""
    try:
        return kind.model_validate(body, strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise _invalid(f"{place or 'the body'}: {problem['msg']}: see GET /openapi.json") from error


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
        raise BodyTooSlow(f"the body did not arrive within {BODY_SECONDS:g} s") from None
    except ClientDisconnect:
        raise BodyTooSlow("the body ended early") from None
    return bytes(content)


def _too_large(most_bytes: int) -> Refusal:
    return Refusal(Code.TOO_LARGE, f"the body is too long: send at most {most_bytes} bytes")


def _query_fields(descriptor: Descriptor, path: Mapping[str, str], query: QueryParams) -> Json:
    fields: Json = {}
    for name, value in query.multi_items():
        field = descriptor.fields_by_name.get(name)
        if field is None or name in path:
            known = [each for each in descriptor.fields_by_name if each not in path]
            raise _invalid(f"unknown parameter {name[:_LONGEST]!r}: use {_listed(known)}")
        if name in fields:
            raise _invalid(f"{name} is given twice: send it once")
        fields[name] = _BOOLEANS.get(value, value) if field.type == FieldDescriptor.TYPE_BOOL else value
    return fields


def _check(descriptor: Descriptor, given: Json, within: str) -> None:
    """Refuses wrong fields: protobuf accepts two names for each, and its errors do not speak of JSON."""
    for name, value in given.items():
        place, field = f"{within}.{name}".strip("."), descriptor.fields_by_name.get(name)
        if field is None:
            of = f" of {within}" if within else ""
            raise _invalid(
                f"unknown field {place[:_LONGEST]!r}: the fields{of} are {_listed(list(descriptor.fields_by_name))}"
            )
        if field.message_type:
            if not isinstance(value, dict):
                raise _invalid(f"{place} is {_shown(value)}: send an object")
            check = _check_map if field.message_type.GetOptions().map_entry else _check
            check(field.message_type, value, place)
        elif correction := _correction(field, value):
            raise _invalid(f"{place} is {_shown(value)}: {correction}")


def _check_map(entry: Descriptor, given: Json, within: str) -> None:
    for name, value in given.items():
        for field, each in ((entry.fields_by_name["key"], name), (entry.fields_by_name["value"], value)):
            if correction := _correction(field, each):
                raise _invalid(f"{within}.{name[:_LONGEST]} is {_shown(each)}: {correction}")


def _correction(field: FieldDescriptor, value: Any) -> str:
    """Returns what to send instead; empty if the value fits."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            fits, wanted = isinstance(value, bool), "send true or false"
        case FieldDescriptor.CPPTYPE_STRING:
            fits, wanted = isinstance(value, str) and not _SURROGATES.search(value), "send a string"
        case FieldDescriptor.CPPTYPE_ENUM:
            assert field.enum_type
            names = list(field.enum_type.values_by_name)
            fits, wanted = value in names, f"send one of {_listed(names)}"
        case kind:
            least, most = _RANGES[kind]
            # Protobuf writes 64-bit integers as strings.
            text = "" if isinstance(value, bool) else str(value)
            if not _WHOLE.fullmatch(text):
                return "send a whole number"
            # The field's own limits are checked later, and mean more than those of its type.
            fits = least <= int(text) <= most
            wanted = "send a smaller number" if int(text) > most else f"send a whole number from {least}"
    return "" if fits else wanted


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}.."


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _invalid(message: str) -> Refusal:
    return Refusal(Code.INVALID, message)
