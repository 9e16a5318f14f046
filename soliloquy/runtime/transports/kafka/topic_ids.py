"""Asks a cluster for topics with their ids: a topic that is deleted and made anew gets another id.

aiokafka 0.14 knows the versions of the request that leave ids out.
"""

from collections.abc import Sequence
from typing import Any

from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.metadata import MetadataRequest_v5
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int16, Int32, Schema, TaggedFields

_TEXT = CompactString("utf-8")
_TAGS = ("tags", TaggedFields)


class _Uuid(AbstractType[bytes]):
    SIZE = 16

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value

    @classmethod
    def decode(cls, data: Any) -> bytes:
        return bytes(data.read(cls.SIZE))


_BROKERS = CompactArray(("node_id", Int32), ("host", _TEXT), ("port", Int32), ("rack", _TEXT), _TAGS)
_CLUSTER = (("throttle_time_ms", Int32), ("brokers", _BROKERS), ("cluster_id", _TEXT), ("controller_id", Int32))
_NODES = [(name, CompactArray(Int32)) for name in ("replicas", "isr", "offline_replicas")]
_PARTITION = (("error_code", Int16), ("partition", Int32), ("leader", Int32), ("leader_epoch", Int32))
_TOPIC = (("error_code", Int16), ("topic", _TEXT), ("topic_id", _Uuid), ("is_internal", Boolean))
_RIGHTS = ("authorized_operations", Int32)


class _MetadataResponse_v10(Response):
    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        *_CLUSTER,
        ("topics", CompactArray(*_TOPIC, ("partitions", CompactArray(*_PARTITION, *_NODES, _TAGS)), _RIGHTS, _TAGS)),
        _RIGHTS,
        _TAGS,
    )


class _MetadataRequest_v10(RequestStruct):
    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 10
    RESPONSE_TYPE = _MetadataResponse_v10
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", _Uuid), ("topic", _TEXT), _TAGS)),
        ("allow_auto_topic_creation", Boolean),
        ("include_authorized_operations_of_cluster", Boolean),
        ("include_authorized_operations_of_topics", Boolean),
        _TAGS,
    )


class TopicsRequest(Request[MetadataRequest_v5 | _MetadataRequest_v10]):
    """Asks for topics by their names, and has the broker create none."""

    API_KEY = 3

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def build(
        self, request_struct_class: type[MetadataRequest_v5 | _MetadataRequest_v10]
    ) -> MetadataRequest_v5 | _MetadataRequest_v10:
        if request_struct_class is MetadataRequest_v5:
            return request_struct_class(self._names, False)
        no_id = bytes(_Uuid.SIZE)
        return request_struct_class([(no_id, name, {}) for name in self._names], False, False, False, {})
