"""Calls of every method over gRPC, with and without a token: each field hostile, and bytes that are no message."""

import asyncio
import itertools
import logging
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from rich.console import Console

from soliloquy.cli.tables import table
from soliloquy_services.gateway.grpc_server import MOST_REQUEST_BYTES, SERVICE
from tests.attack.mutations import broken_bytes
from tests.integration.gateway.site import OPERATOR, READER, guarded, site

SEED = 17
# Mutations of a valid request, for each method.
MUTATIONS = 200
# How long the first message of a stream is waited for, and the refusal of one.
STREAM_SECONDS, REFUSAL_SECONDS = 0.05, 30.0
AT_ONCE = 16
STATUS = grpc.StatusCode
HEALTH: Any = health_pb2.DESCRIPTOR.services_by_name["Health"]
REFLECTION: Any = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]
METHODS: Sequence[MethodDescriptor] = [*SERVICE.methods, *HEALTH.methods, *REFLECTION.methods]
# What each may answer a caller with a token; streams that are cut off here end as CANCELLED.
ANSWERS = {
    *(STATUS.OK, STATUS.INVALID_ARGUMENT, STATUS.NOT_FOUND, STATUS.ALREADY_EXISTS, STATUS.PERMISSION_DENIED),
    *(STATUS.RESOURCE_EXHAUSTED, STATUS.FAILED_PRECONDITION, STATUS.CANCELLED),
}
STRINGS = (
    *("", "\0", "\x1b]0;x\a", "..", "../../etc/passwd", "'; DROP TABLE finished; --", "%", "*", "\u202e", "0", "-1"),
    *("1e309", "nan", "é" * 40, "x" * 60_000, "{}", "a:b", "١٢٣", "99999999999999999999:x", "12345678901234567890"),
)
NUMBERS = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), 2**64 - 1)
# Wire types that no field has, endless varints, groups, and lengths beyond the end.
BROKEN = (b"\xff", b"\x0a", b"\x0a\xff\xff\xff\xff\x0f", b"\x80" * 40, b"\x0b" * 200, b"\x0a\x01\xff", b"\x00\x00")
STRANGERS = {
    "nobody": (),
    "a wrong token": (("authorization", "Bearer guess"),),
    "a wrong scheme": (("authorization", f"Basic {OPERATOR}"),),
    "two tokens": (("authorization", "Bearer guess"), ("authorization", "Bearer again")),
    "bytes for a token": (("authorization-bin", b"\xff\0"),),
}
CALLERS = {
    "the operator": (("authorization", f"Bearer {OPERATOR}"),),
    "the reader": (("authorization", f"Bearer {READER}"),),
}


@pytest.mark.timeout(600)
async def test_no_request_over_grpc_fails_in_the_gateway_and_none_is_parsed_for_a_stranger(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answers: dict[str, Counter[STATUS]] = {}
    async with site(tmp_path, admitting=guarded(tmp_path)) as at, grpc.aio.insecure_channel(at.grpc) as channel:
        known = {"run": await at.start(), "request_id": "one", "problems": "arithmetic", "recipe": "soliloquy"}
        for method in METHODS:
            made = _requests(method, known, random.Random(f"{SEED} {method.full_name}"))
            requests = [request for request in made if len(request) < MOST_REQUEST_BYTES]
            for name, metadata in (CALLERS | STRANGERS).items():
                chosen = requests if name in CALLERS else requests[:: len(STRANGERS)]
                patience = STREAM_SECONDS if name in CALLERS or method in HEALTH.methods else REFUSAL_SECONDS
                codes = await _answers(channel, method, chosen, metadata, patience)
                answers.setdefault(f"{method.name}, {len(requests)} requests", Counter()).update(codes)
                # Health is open to all.
                is_refused = name in STRANGERS and method not in HEALTH.methods
                assert codes.keys() <= ({STATUS.UNAUTHENTICATED} if is_refused else ANSWERS), (method.name, name, codes)
    rows = table("method", "answers")
    for place, counted in answers.items():
        rows.add_row(place, ", ".join(f"{number} {code.name}" for code, number in counted.most_common()))
    Console(width=160).print(rows)
    assert not [line.getMessage() for line in caplog.records if line.levelno >= logging.ERROR]


async def test_a_request_that_grows_when_it_is_unpacked_is_refused(tmp_path: Path) -> None:
    async with site(tmp_path, admitting=guarded(tmp_path)) as at, grpc.aio.insecure_channel(at.grpc) as channel:
        call: Any = channel.unary_unary(f"/{SERVICE.full_name}/GetRun")
        for metadata in (*CALLERS.values(), *STRANGERS.values()):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call(bytes(64 * 1024**2), metadata=metadata, compression=grpc.Compression.Gzip)
            assert refused.value.code() == STATUS.RESOURCE_EXHAUSTED


async def _answers(
    channel: grpc.aio.Channel, method: MethodDescriptor, requests: Sequence[bytes], metadata: Any, patience: float
) -> Counter[STATUS]:
    limit = asyncio.Semaphore(AT_ONCE)

    async def answer(request: bytes) -> STATUS:
        async with limit:
            return await _answer(channel, method, request, metadata, patience)

    return Counter(await asyncio.gather(*map(answer, requests)))


async def _answer(
    channel: grpc.aio.Channel, method: MethodDescriptor, request: bytes, metadata: Any, patience: float
) -> STATUS:
    path = f"/{method.containing_service.full_name}/{method.name}"
    call: Any = channel
    if method.client_streaming:
        call = call.stream_stream(path)(iter([request]), metadata=metadata)
    elif method.server_streaming:
        call = call.unary_stream(path)(request, metadata=metadata)
    else:
        call = call.unary_unary(path)(request, metadata=metadata)
    if method.server_streaming:
        # A stream that begins is admitted; those that do not end are left.
        await asyncio.wait({first := asyncio.ensure_future(call.read())}, timeout=patience)
        if not call.done() and not (first.done() and first.exception() is None and first.result() is grpc.aio.EOF):
            call.cancel()
        await asyncio.gather(first, return_exceptions=True)
    code: STATUS = await call.code()
    return code


def _requests(method: MethodDescriptor, known: dict[str, str], chance: random.Random) -> Iterator[bytes]:
    valid = _filled(method.input_type, known)
    yield b""
    yield valid.SerializeToString()
    for request in _hostile(method.input_type, valid):
        yield request.SerializeToString()
    yield from BROKEN
    whole = valid.SerializeToString() or b"\x0a\x01x"
    for _ in range(MUTATIONS):
        yield broken_bytes(whole, chance)


def _filled(kind: Descriptor, known: dict[str, str]) -> Message:
    message: Message = GetMessageClass(kind)()
    for field in kind.fields:
        if field.name in known:
            setattr(message, field.name, known[field.name])
        elif field.name == "conversations":
            setattr(message, field.name, 1)
        elif field.message_type and not field.is_repeated and field.containing_oneof is None:
            getattr(message, field.name).CopyFrom(_filled(field.message_type, known))
    return message


def _hostile(kind: Descriptor, valid: Message) -> Iterator[Message]:
    """Yields the valid message with one field after another set to each hostile value."""
    for field in kind.fields:
        if field.message_type and field.message_type.GetOptions().map_entry:
            for name, value in itertools.product(STRINGS, STRINGS[::4]):
                changed = GetMessageClass(kind)()
                changed.CopyFrom(valid)
                getattr(changed, field.name)[name] = value
                yield changed
            continue
        if field.message_type:
            for inner in _hostile(field.message_type, getattr(valid, field.name)):
                changed = GetMessageClass(kind)()
                changed.CopyFrom(valid)
                getattr(changed, field.name).CopyFrom(inner)
                yield changed
            continue
        for value in _values(field):
            changed = GetMessageClass(kind)()
            changed.CopyFrom(valid)
            try:
                setattr(changed, field.name, value)
            except ValueError:
                # Out of the field's range: protobuf writes no such message.
                continue
            yield changed


def _values(field: FieldDescriptor) -> Sequence[Any]:
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return [value.encode() for value in STRINGS] if field.type == FieldDescriptor.TYPE_BYTES else STRINGS
    return (False, True) if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else NUMBERS
