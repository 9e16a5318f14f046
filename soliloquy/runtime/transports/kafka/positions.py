"""A consumer's position as the group's coordinator keeps it: an offset, and in its metadata what is finished beyond.

Without the second part, everything that finished ahead of one slow event would be done again after a crash.
"""

import base64
import binascii
import zlib
from collections.abc import Collection

from aiokafka.structs import OffsetAndMetadata

from soliloquy.runtime.transports.watermark import Watermark

# Brokers refuse more (`offset.metadata.max.bytes`).
MAX_CHARACTERS = 4096
_MARK = "ahead:"


def position_of(watermark: Watermark) -> OffsetAndMetadata:
    following = watermark.position + 1
    return OffsetAndMetadata(following, encoded(following, watermark.ahead))


def encoded(next_offset: int, ahead: Collection[int]) -> str:
    """As a bit for each offset from the next one on; of more than fits, the lowest."""
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
    """Empty where another program, or none, wrote the metadata."""
    if not metadata.startswith(_MARK):
        return set()
    try:
        bits = zlib.decompress(base64.b85decode(metadata.removeprefix(_MARK)))
    except (ValueError, binascii.Error, zlib.error):
        return set()
    return {next_offset + place for place in range(8 * len(bits)) if bits[place // 8] >> place % 8 & 1}
