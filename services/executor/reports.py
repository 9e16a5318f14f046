"""What a sandbox reports, checked and made an Execution: nothing in it is trusted."""

import json
import math
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import Complex, Entries, Entry, Execution, Items, NamedValue, Value

from services.executor.guest.wire import ENDED, FLOODED, REPORT, TIMED_OUT
from services.executor.policy import LIMITS

_INTEGER = re.compile(r"-?[0-9]+")
_UNREADABLE = "the job left no readable result"
_TOO_MUCH = f"more output than a job may give ({LIMITS['stdout_bytes']} bytes)"
_FAILURES = {
    "error": sandbox_pb2.STATUS_ERROR,
    "memory": sandbox_pb2.STATUS_MEMORY,
    "exited": sandbox_pb2.STATUS_EXITED,
}


class BadReport(Exception):
    """Not what a sound zygote writes."""


class Unreadable(Exception):
    """Not what an honest child writes."""


_MALFORMED = (Unreadable, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    end: int
    exit_code: int
    killer: int
    spent: bool
    seconds: float
    stdout: bytes
    result: bytes


def parse(payload: bytes) -> Report:
    if len(payload) < REPORT.size:
        raise BadReport(f"a report of {len(payload)} bytes")
    end, exit_code, killer, spent, seconds, size = REPORT.unpack_from(payload)
    stdout, result = payload[REPORT.size : REPORT.size + size], payload[REPORT.size + size :]
    if end not in (ENDED, TIMED_OUT, FLOODED) or not math.isfinite(seconds) or len(stdout) != size:
        raise BadReport(f"a report that says {end=} {seconds=} and {size} bytes of stdout")
    return Report(
        end=end,
        exit_code=exit_code,
        killer=killer,
        spent=bool(spent),
        seconds=seconds,
        stdout=stdout,
        result=result,
    )


def execution(report: Report, names: list[str]) -> Execution:
    """How the job ended; the named values if it ended well."""
    done = _outcome(report, names)
    done.seconds = report.seconds
    # How far a job got when its time was up differs from run to run.
    if done.status != sandbox_pb2.STATUS_TIMEOUT:
        done.stdout = report.stdout.decode("utf-8", "replace")
    return done


def _outcome(report: Report, names: list[str]) -> Execution:
    if report.end == TIMED_OUT or report.killer == signal.SIGXCPU:
        return Execution(status=sandbox_pb2.STATUS_TIMEOUT, error="no end within the time limit")
    if report.end == FLOODED:
        return Execution(status=sandbox_pb2.STATUS_OUTPUT_LIMIT, error=_TOO_MUCH)
    if report.killer:
        return Execution(status=sandbox_pb2.STATUS_SIGNAL, error=f"killed by {_signal_name(report.killer)}")
    if not report.result:
        return Execution(
            status=sandbox_pb2.STATUS_EXITED, error=f"ended with exit code {report.exit_code} and no result"
        )
    try:
        return _told(report.result, names)
    except _MALFORMED:
        return Execution(status=sandbox_pb2.STATUS_ERROR, error=_UNREADABLE)


def _told(result: bytes, names: list[str]) -> Execution:
    told = json.loads(result)
    if told["status"] in _FAILURES:
        return Execution(status=_FAILURES[told["status"]], error=_clean(told["error"]), error_line=told["line"])
    tagged = told["values"]
    if told["status"] != "ok" or [name for name, _ in tagged] != names:
        raise Unreadable
    values = [NamedValue(name=name, value=_value(value, 0)) for name, value in tagged]
    done = Execution(status=sandbox_pb2.STATUS_OK, values=values)
    if done.ByteSize() > LIMITS["values_bytes"]:
        error = f"the values take more than {LIMITS['values_bytes']} bytes"
        return Execution(status=sandbox_pb2.STATUS_OUTPUT_LIMIT, error=error)
    return done


def _value(tagged: list[Any], depth: int) -> Value:
    kind, *parts = tagged
    if depth > LIMITS["value_depth"]:
        raise Unreadable
    if kind == "items":
        return Value(items=Items(items=[_value(item, depth + 1) for item in parts[0]]))
    if kind == "entries":
        pairs = [Entry(key=_value(key, depth + 1), value=_value(value, depth + 1)) for key, value in parts[0]]
        return Value(entries=Entries(entries=pairs))
    return _SCALARS[kind](*parts)


def _integer(digits: str) -> Value:
    if not _INTEGER.fullmatch(digits):
        raise Unreadable
    return Value(integer=digits)


def _text(text: str) -> Value:
    try:
        text.encode()
    except UnicodeEncodeError:
        # Lone surrogates: no UTF-8, so no protobuf string.
        return Value(unserialisable="str")
    return Value(text=text)


_SCALARS: dict[str, Callable[..., Value]] = {
    "none": lambda: Value(none=True),
    "boolean": lambda value: Value(boolean=value),
    "integer": _integer,
    "real": lambda real: Value(real=float(real)),
    "complex": lambda real, imaginary: Value(complex=Complex(real=float(real), imaginary=float(imaginary))),
    "text": _text,
    "unserialisable": lambda name: Value(unserialisable=_clean(name)),
}


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
