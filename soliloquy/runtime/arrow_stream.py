"""Reads Arrow streams of others, whose batches may be compressed to a thousandth or point outside of themselves."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from soliloquy.runtime.files import require_regular
from soliloquy.runtime.parquet import TooLarge

_MOST_BYTES = 256 * 1024**2
# Fields of the flatbuffers' tables Message and RecordBatch.
_HEADER, _COMPRESSION = 2, 3


class ArrowStream:
    def __init__(self, file: pa.NativeFile) -> None:
        self._messages = pa.ipc.MessageReader.open_stream(file)
        self.schema: pa.Schema = pa.ipc.read_schema(self._messages.read_next_message())
        for field in self.schema:
            _require_plain(field.name, field.type)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Raises TooLarge, and ArrowException for a batch that is invalid."""
        for message in self._messages:
            if message.type != "record batch":
                raise pa.ArrowInvalid(f"it holds a {message.type} in the place of rows")
            if _is_compressed(message.metadata.to_pybytes()):
                raise pa.ArrowInvalid("it is compressed, and `datasets` never compresses: save it with save_to_disk")
            if message.body.size > _MOST_BYTES:
                raise TooLarge(f"a batch has {message.body.size:,} bytes; the most is {_MOST_BYTES:,}")
            batch = pa.ipc.read_record_batch(message, self.schema)
            for column in batch.columns:
                try:
                    column.validate(full=True)
                except pa.ArrowInvalid as error:
                    # A reader of rows refuses those alone.
                    if "UTF8" not in str(error):
                        raise
            yield batch


@contextmanager
def opened_stream(path: Path) -> Iterator[ArrowStream]:
    """Raises OSError and ArrowException."""
    require_regular(path)
    with pa.OSFile(str(path)) as file:
        try:
            yield ArrowStream(file)
        except (StopIteration, struct.error, IndexError) as error:
            raise pa.ArrowInvalid("it is no Arrow stream") from error


def _require_plain(name: str, kind: pa.DataType) -> None:
    """Refuses types whose values are stored once and repeated."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) or "view" in str(kind):
        raise pa.ArrowInvalid(f"{name} is of type {kind}, which `datasets` does not write")
    for place in range(kind.num_fields):
        _require_plain(name, kind.field(place).type)


def _is_compressed(message: bytes) -> bool:
    [root] = struct.unpack_from("<I", message)
    header = _field(message, root, _HEADER)
    if not header:
        return False
    [offset] = struct.unpack_from("<I", message, header)
    return bool(_field(message, header + offset, _COMPRESSION))


def _field(message: bytes, table: int, number: int) -> int:
    """Returns the position of a field of a flatbuffers table; 0 if it is unset."""
    [back] = struct.unpack_from("<i", message, table)
    [size] = struct.unpack_from("<H", message, table - back)
    place = 4 + 2 * number
    if place + 2 > size:
        return 0
    [offset] = struct.unpack_from("<H", message, table - back + place)
    return table + offset if offset else 0
