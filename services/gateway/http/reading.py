"""What a request says, as the message that it is to be; every refusal names the field."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NoReturn

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from services.gateway.refusals import Code, Refusal

MOST_BODY_BYTES = 1024**2
# A body that takes longer to come is not waited for.
BODY_SECONDS = 10.0
_DEEPEST = 32
_BOOLEANS = {"true": True, "false": False}

Json = dict[str, Any]


class TooSlow(Exception):
    """The body did not come in time."""


async def read_body(request: Request, most_bytes: int = MOST_BODY_BYTES) -> Json:
    """A JSON object; empty where nothing was sent. What is too long is refused before it is read."""
    if not (content := await _content(request, most_bytes)):
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(Code.INVALID, f"the body is {kind or 'of no type'}: send application/json")
    try:
        body = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refusal(Code.INVALID, f"the body is no JSON ({error})") from error
    if not isinstance(body, dict):
        raise Refusal(Code.INVALID, f"the body is {type(body).__name__}: send a JSON object")
    return body


def parsed(descriptor: Descriptor, body: Json, path: Mapping[str, str], query: QueryParams | None = None) -> Message:
    """The message of a body's and a path's fields, and of a query's."""
    asked = {**body, **(_of_query(descriptor, path, query) if query else {})}
    if twice := asked.keys() & path.keys():
        raise Refusal(Code.INVALID, f"{min(twice)} is in the path: leave it out elsewhere")
    _check_names(descriptor, asked, "")
    message: Message = GetMessageClass(descriptor)()
    try:
        return ParseDict({**asked, **path}, message, max_recursion_depth=_DEEPEST)
    except (ParseError, RecursionError) as error:
        # The first line says which field; the others list what protobuf knows.
        raise Refusal(Code.INVALID, f"{str(error).partition(chr(10))[0].removesuffix('.')}") from error


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
            raise Refusal(Code.INVALID, f"there is no {name!r} to ask for: {_listed(known)}")
        if name in asked:
            raise Refusal(Code.INVALID, f"{name} is given twice: once is enough")
        asked[name] = _boolean(name, value) if field.type == FieldDescriptor.TYPE_BOOL else value
    return asked


def _boolean(name: str, value: str) -> bool:
    if value not in _BOOLEANS:
        raise Refusal(Code.INVALID, f"{name} is {value[:80]!r}: write true or false")
    return _BOOLEANS[value]


def _check_names(descriptor: Descriptor, given: Json, within: str) -> None:
    """Protobuf takes fields by two names each, and says of others what no user of JSON understands."""
    for name, value in given.items():
        field = descriptor.fields_by_name.get(name)
        if field is None:
            of = f" of {within}" if within else ""
            raise Refusal(
                Code.INVALID,
                f"there is no field {f'{within}.{name}'.strip('.')!r}: those{of} are "
                f"{_listed(list(descriptor.fields_by_name))}",
            )
        if field.message_type and isinstance(value, dict) and not field.message_type.GetOptions().map_entry:
            _check_names(field.message_type, value, f"{within}.{name}".strip("."))


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"
