"""Converts events to Kafka records and back: CloudEvents in binary mode, plus headers for our retries."""

import functools
import json
from datetime import UTC, datetime
from typing import Any

from aiokafka import ConsumerRecord

from soliloquy.runtime.events import MAX_EVENT_BYTES, Event
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.topics import TOPICS, origin
from soliloquy.runtime.transports.port import Delivery, Partition

Record = ConsumerRecord[Any, Any]
CONTENT_TYPE = "application/protobuf"


class _Foreign(Exception):
    """The record is not an event of this version of the contract."""


def headers_of(event: Event) -> list[tuple[str, bytes]]:
    headers = [
        ("ce_specversion", b"1.0"),
        ("ce_id", event.id.encode()),
        ("ce_type", (event.type if event.flaw else _type_of(event.topic)).encode()),
        ("ce_source", event.source.encode()),
        ("ce_time", datetime.fromtimestamp(event.time, UTC).isoformat(timespec="microseconds").encode()),
        ("content-type", CONTENT_TYPE.encode()),
    ]
    if event.traceparent:
        headers.append(("traceparent", event.traceparent.encode()))
    if event.began:
        headers.append(("soliloquy_began", json.dumps(event.began).encode()))
    if event.attempt:
        headers.append(("soliloquy_attempt", str(event.attempt).encode()))
    if event.not_before:
        headers.append(("soliloquy_not_before", repr(event.not_before).encode()))
    if event.replayed:
        headers.append(("soliloquy_replayed", b"true"))
    if event.error:
        headers.append(("soliloquy_error", event.error.encode()))
    return headers


def delivery_of(record: Record, partition: Partition) -> Delivery:
    """Never fails: a foreign record becomes an event that no handler accepts and that says why."""
    try:
        event = _event_of(record, partition.topic)
    except _Foreign as foreign:
        event = _foreign_event(record, partition.topic, str(foreign))
    return Delivery(event=event, partition=partition, offset=record.offset)


def _event_of(record: Record, topic: str) -> Event:
    headers = _texts(record)
    expected, found = _type_of(topic), headers.get("ce_type", "")
    if found != expected:
        raise _Foreign(
            f"it carries {found or 'no ce_type'}, this version reads {expected}: find out who wrote it, "
            "or upgrade this service if its schema is a later one, and then replay it"
        )
    if _is_oversize(record):
        raise _Foreign(
            f"its payload of {len(record.value or b'')} bytes is above the limit of {MAX_EVENT_BYTES}: "
            f"it stays at offset {record.offset} of partition {record.partition}"
        )
    if record.key is None or record.value is None:
        raise _Foreign(f"it has no {'key' if record.key is None else 'payload'}: find out who wrote it")
    try:
        return Event(
            id=headers["ce_id"],
            topic=topic,
            key=record.key.decode(),
            payload=record.value,
            source=headers["ce_source"],
            time=datetime.fromisoformat(headers["ce_time"]).timestamp(),
            traceparent=headers.get("traceparent", ""),
            began=json.loads(headers.get("soliloquy_began", "{}")),
            attempt=int(headers.get("soliloquy_attempt", 0)),
            not_before=float(headers.get("soliloquy_not_before", 0)),
            error=headers.get("soliloquy_error", ""),
            replayed="soliloquy_replayed" in headers,
        )
    except (KeyError, ValueError) as error:
        raise _Foreign(f"its headers are not those of an event ({error!r}): find out who wrote it") from error


def _texts(record: Record) -> dict[str, str]:
    try:
        return {name: value.decode() for name, value in record.headers if value is not None}
    except UnicodeDecodeError as error:
        raise _Foreign(f"its headers are no text ({error}): find out who wrote it") from error


def _foreign_event(record: Record, topic: str, flaw: str) -> Event:
    """Keeps the id of our own records; the id of others derives from their position."""
    headers = {name: (value or b"").decode(errors="replace") for name, value in record.headers}
    attempt = headers.get("soliloquy_attempt", "")
    return Event(
        id=headers.get("ce_id") or digest(record.topic, record.partition, record.offset),
        topic=topic,
        key=(record.key or b"").decode(errors="replace"),
        # A payload above the limit could not be republished.
        payload=b"" if _is_oversize(record) else record.value or b"",
        source=headers.get("ce_source") or "unknown",
        time=record.timestamp / 1000,
        attempt=int(attempt) if attempt.isdecimal() else 0,
        error=headers.get("soliloquy_error", ""),
        flaw=flaw,
        type=headers.get("ce_type", ""),
    )


def _is_oversize(record: Record) -> bool:
    return record.value is not None and len(record.value) > MAX_EVENT_BYTES


@functools.cache
def _type_of(topic: str) -> str:
    return TOPICS[origin(topic)].message.DESCRIPTOR.full_name
