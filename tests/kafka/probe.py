"""Asks one broker which brokers are alive, without an event loop or credentials."""

import socket
import struct
from typing import BinaryIO

_METADATA, _VERSION = 3, 1
_NO_CLIENT, _NO_TOPICS = -1, 0
_ANSWER_SECONDS = 2.0


def alive_brokers(host: str, port: int) -> frozenset[int]:
    """Returns the nodes that this one considers alive; none while it does not answer.

    A broker answers only once it has caught up with the cluster and is alive itself.
    """
    request = struct.pack(">hhihi", _METADATA, _VERSION, 0, _NO_CLIENT, _NO_TOPICS)
    try:
        with socket.create_connection((host, port), _ANSWER_SECONDS) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as answer:
                _size, _correlation, brokers = struct.unpack(">iii", answer.read(12))
                return frozenset(_broker(answer) for _ in range(brokers))
    except (OSError, struct.error):
        return frozenset()


def _broker(answer: BinaryIO) -> int:
    (node,) = struct.unpack(">i", answer.read(4))
    _string(answer)
    _port = answer.read(4)
    _string(answer)
    return int(node)


def _string(answer: BinaryIO) -> bytes:
    (length,) = struct.unpack(">h", answer.read(2))
    return answer.read(max(0, length))
