"""Types of values on the command line."""

import re
import socket
from typing import TYPE_CHECKING

import click
from click.types import FuncParamType

if TYPE_CHECKING:
    from soliloquy.dataset.storage import Storage

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}
_BYTES = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def _address(value: str) -> str:
    match = re.fullmatch(r"(?:[\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", value)
    if match is None or int(match[1]) > 65_535:
        raise click.BadParameter(f"invalid address {value!r}: use HOST:PORT, e.g. 127.0.0.1:50051")
    return value


def _brokers(value: str) -> str:
    for address in value.split(","):
        try:
            _address(address)
        except click.BadParameter as bad:
            raise click.BadParameter(f"invalid address {address!r}: use HOST:PORT, e.g. 127.0.0.1:9092") from bad
    return value


def _duration(value: str | float) -> float:
    if isinstance(value, float):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|)", value)
    if match is None:
        raise click.BadParameter(f"invalid duration {value!r}: use a number with a unit, e.g. 200ms, 1.5s or 2m")
    return float(match[1]) * _SECONDS[match[2]]


def _size(value: str | int) -> int:
    if isinstance(value, int):
        return value
    match = re.fullmatch(r"([1-9]\d{0,8})(KiB|MiB|GiB)", value)
    if match is None:
        raise click.BadParameter(f"invalid size {value!r}: use a number with a unit, e.g. 512MiB")
    return int(match[1]) * _BYTES[match[2]]


def _place(value: str) -> "Storage":
    # Commands without datasets never load fsspec.
    from soliloquy.dataset.storage import Storage

    return Storage(value)


ADDRESS, BROKERS, PLACE = FuncParamType(_address), FuncParamType(_brokers), FuncParamType(_place)
DURATION, SIZE = FuncParamType(_duration), FuncParamType(_size)
# The names that help shows.
DURATION.name, SIZE.name = "duration", "size"


def free_address() -> str:
    """Returns an address of this machine that no process listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"
