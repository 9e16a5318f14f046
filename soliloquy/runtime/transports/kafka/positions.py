"""Encodes a consumer's position: the committed offset, and in its metadata the finished offsets beyond.

Without the metadata, a crash would repeat everything that finished after one slow event.
"""

import base64
import binascii
import zlib
from collections.abc import Collection

from aiokafka.structs import OffsetAndMetadata

from soliloquy.runtime.transports.watermark import Watermark

# Brokers reject more (`offset.metadata.max.bytes`).
MAX_CHARACTERS = 4096
_MARK = "ahead:"


def position_of(watermark: Watermark) -> OffsetAndMetadata:
    following = watermark.position + 1
    return OffsetAndMetadata(following, encoded(following, watermark.ahead))


def encoded(next_offset: int, ahead: Collection[int]) -> str:
    """Encodes the offsets as a bitmap from `next_offset` on; drops the highest ones that do not fit."""
    known = sorted(ahead)
    while known:
        bits = bytearray((known[-1] - next_offset) // 8 + 1)
        for offset in known:
            place = offset - next_offset
            bits[place // 8] |= 1 << place % 8
        text = _MARK + base64.b85encode(zlib.compress(bytes(bits))).decode("ascii")
        if len(text) <= MAX_CHARACTERS:
            return text
        known = known[: len(known) // 2]
    return ""


def decoded(next_offset: int, metadata: str) -> set[int]:
    """Decodes the offsets; empty if another program wrote the metadata."""
    if not metadata.startswith(_MARK):
        return set()
    try:
        bits = zlib.decompress(base64.b85decode(metadata.removeprefix(_MARK)))
    except (ValueError, binascii.Error, zlib.error):
        return set()
    return {next_offset + place for place in range(8 * len(bits)) if bits[place // 8] >> place % 8 & 1}
