"""Formats the result of a sandbox job, as lines or as JSON."""

from collections.abc import Iterator
from typing import Any

from soliloquy.runtime.values import lane_name, plain, shown, status_name
from soliloquy.v1.sandbox_pb2 import Execution


def as_json(done: Execution) -> dict[str, Any]:
    return {
        "status": status_name(done),
        "values": {named.name: plain(named.value) for named in done.values},
        "stdout": done.stdout,
        "error": done.error,
        "error_line": done.error_line,
        "lane": lane_name(done),
        "isolation": done.isolation,
        "runsc_version": done.runsc_version,
        "seconds": done.seconds,
        "waited_seconds": done.waited_seconds,
        "recomputed": list(done.recomputed),
    }


def lines(done: Execution) -> Iterator[str]:
    line = f" (line {done.error_line})" if done.error_line else ""
    yield _printable(f"{status_name(done)}: {done.error}{line}" if done.error else status_name(done))
    for named in done.values:
        again = "  (recomputed on the host)" if named.name in done.recomputed else ""
        yield _printable(f"{named.name} = {shown(named.value)}{again}")
    if done.stdout:
        yield "stdout:"
        yield from (f"    {_printable(printed)}" for printed in done.stdout.splitlines())
    if done.isolation:
        lane = lane_name(done).replace("_", "-")
        times = f"{_milliseconds(done.seconds)} after waiting {_milliseconds(done.waited_seconds)}"
        yield f"{lane} lane, {times}; {done.isolation}, runsc {done.runsc_version}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1_000:.1f} ms"


def _printable(text: str) -> str:
    """Escapes control characters, which could steer the terminal."""
    return "".join(char if char.isprintable() or char == "\t" else repr(char)[1:-1] for char in text)
