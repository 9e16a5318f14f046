"""Converts events to Kafka records and back: CloudEvents in binary mode, plus headers for our retries."""

import functools
import json
import re
from datetime import UTC, datetime
from typing import Any

from aiokafka import ConsumerRecord

from soliloquy.runtime.events import END_OF_TIME, MAX_EVENT_BYTES, Event
from soliloquy.runtime.lineage import checked
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.topics import TOPICS, origin
from soliloquy.runtime.transports.port import Delivery, Partition

Record = ConsumerRecord[Any, Any]
CONTENT_TYPE = "application/protobuf"
# Bytes of a header or a key: a longer one would be republished with every retry.
_MOST_HEADER_BYTES = 8 * 1024
# Whatever is no lineage is cut off.
_LINEAGE = "soliloquy_lineage"


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
    optional = {
        "traceparent": event.traceparent,
        _LINEAGE: event.lineage,
        "soliloquy_began": event.began and json.dumps(event.began),
        "soliloquy_attempt": event.attempt and str(event.attempt),
        "soliloquy_not_before": event.not_before and repr(event.not_before),
        "soliloquy_replayed": event.replayed and "true",
        "soliloquy_error": event.error,
    }
    return headers + [(name, str(value).encode()) for name, value in optional.items() if value]


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
    for name, value in (*record.headers, ("key", record.key)):
        if value and len(value) > _MOST_HEADER_BYTES and name != _LINEAGE:
            raise _Foreign(f"its {name[:80]} has {len(value)} bytes, above the limit of {_MOST_HEADER_BYTES}")
    try:
        return Event(
            id=headers["ce_id"],
            topic=topic,
            key=record.key.decode(),
            payload=record.value,
            source=headers["ce_source"],
            time=_seconds(datetime.fromisoformat(headers["ce_time"]).timestamp()),
            traceparent=headers.get("traceparent", ""),
            began=_began(headers.get("soliloquy_began", "{}")),
            lineage=_lineage(record),
            attempt=_attempt(headers.get("soliloquy_attempt", "0")),
            not_before=_seconds(float(headers.get("soliloquy_not_before", 0))),
            error=headers.get("soliloquy_error", ""),
            replayed="soliloquy_replayed" in headers,
        )
    except (KeyError, ValueError, OverflowError, RecursionError) as error:
        raise _Foreign(f"its headers are not those of an event ({error!r}): find out who wrote it") from error


def _began(text: str) -> dict[str, float]:
    began = json.loads(text, parse_int=float)
    if not isinstance(began, dict):
        raise ValueError(f"soliloquy_began is {type(began).__name__}")
    return {name: _seconds(at) for name, at in began.items()}


def _lineage(record: Record) -> str:
    found = next((value for name, value in record.headers if name == _LINEAGE), None) or b""
    return checked(found[:_MOST_HEADER_BYTES].decode(errors="ignore"))


def _seconds(value: object) -> float:
    if not isinstance(value, float) or not 0 <= value < END_OF_TIME:
        raise ValueError(f"{value!r} is no time")
    return value


def _attempt(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError(f"{text[:80]!r} is no number of attempts")
    return int(text)


def _texts(record: Record) -> dict[str, str]:
    try:
        return {name: value.decode() for name, value in record.headers if value is not None and name != _LINEAGE}
    except UnicodeDecodeError as error:
        raise _Foreign(f"its headers are no text ({error}): find out who wrote it") from error


def _foreign_event(record: Record, topic: str, flaw: str) -> Event:
    """Keeps the id of our own records; the id of others derives from their position."""
    headers = {name: (value or b"")[:_MOST_HEADER_BYTES].decode(errors="replace") for name, value in record.headers}
    seconds = record.timestamp / 1000
    try:
        attempt = _attempt(headers.get("soliloquy_attempt", ""))
    except ValueError:
        attempt = 0
    return Event(
        id=headers.get("ce_id") or digest(record.topic, record.partition, record.offset),
        topic=topic,
        key=(record.key or b"")[:_MOST_HEADER_BYTES].decode(errors="replace"),
        # A payload above the limit could not be republished.
        payload=b"" if _is_oversize(record) else record.value or b"",
        source=headers.get("ce_source") or "unknown",
        # Its writer chooses the timestamp.
        time=seconds if 0 <= seconds < END_OF_TIME else 0.0,
        attempt=attempt,
        error=headers.get("soliloquy_error", ""),
        flaw=flaw,
        type=headers.get("ce_type", ""),
    )


def _is_oversize(record: Record) -> bool:
    return record.value is not None and len(record.value) > MAX_EVENT_BYTES


@functools.cache
def _type_of(topic: str) -> str:
    return TOPICS[origin(topic)].message.DESCRIPTOR.full_name
