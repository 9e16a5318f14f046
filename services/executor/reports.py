"""Turns a sandbox's report into an Execution; nothing in a report is trusted."""

import json
import math
import re
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from soliloquy.runtime.code import identifier
from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import Complex, Entries, Entry, Execution, Items, NamedValue, Value
from soliloquy_services.executor.guest.verdicts import Verdict
from soliloquy_services.executor.guest.vet import VetResult
from soliloquy_services.executor.guest.wire import DIED, ENDED, FLOODED, REFUSED, REPORT, TIMED_OUT
from soliloquy_services.executor.policy import LIMITS

_ENDS = (ENDED, TIMED_OUT, FLOODED, REFUSED, DIED)
_INTEGER = re.compile(r"-?[0-9]+")
_UNREADABLE = "the job left no readable result"
_FAILURES = {
    "error": sandbox_pb2.STATUS_ERROR,
    "memory": sandbox_pb2.STATUS_MEMORY,
    "exited": sandbox_pb2.STATUS_EXITED,
}


class InvalidReport(Exception):
    """An intact zygote does not write this."""


# An honest child writes nothing that raises these.
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class JobReport(NamedTuple):
    number: int
    end: int
    exit_code: int
    killer: int
    spent: bool
    seconds: float
    stdout: bytes
    result: bytes


def parse(payload: bytes) -> JobReport:
    if len(payload) < REPORT.size:
        raise InvalidReport(f"a report of {len(payload)} bytes")
    *fields, size = REPORT.unpack_from(payload)
    end_of_stdout = REPORT.size + size
    report = JobReport._make([*fields, payload[REPORT.size : end_of_stdout], payload[end_of_stdout:]])
    if report.end not in _ENDS or not math.isfinite(report.seconds) or len(report.stdout) != size:
        raise InvalidReport(f"a report with end={report.end} seconds={report.seconds} and {size} bytes of stdout")
    return report


def vet_findings(report: JobReport) -> VetResult:
    """Reads the refusal of a vetted worker, or of its zygote if the worker died on the job."""
    if report.end == DIED:
        return VetResult(refused=f"the vetted worker died on it: {_death(report)}")
    try:
        result = json.loads(report.result)
        imports = tuple(name for name in result["imports"] if isinstance(name, str))
        return VetResult(refused=_clean(result["refused"]), imports=imports, verdicts=_verdicts(result))
    except _MALFORMED as error:
        raise InvalidReport(f"a refusal that cannot be read: {error}") from error


def execution(report: JobReport, names: Sequence[str], verdicts: Sequence[Verdict] | None = None) -> Execution:
    """Returns how the job ended, with the named values if it succeeded.

    Without `verdicts`, those in the vetted worker's own report are used.
    """
    done = _outcome(report, names, verdicts)
    done.seconds = report.seconds
    # How far a job gets before its timeout differs from run to run.
    if done.status != sandbox_pb2.STATUS_TIMEOUT:
        done.stdout = report.stdout.decode("utf-8", "replace")
    return done


def _outcome(report: JobReport, names: Sequence[str], verdicts: Sequence[Verdict] | None) -> Execution:
    if report.end == TIMED_OUT or report.killer == signal.SIGXCPU:
        return Execution(status=sandbox_pb2.STATUS_TIMEOUT, error="no end within the time limit")
    if report.end == FLOODED:
        error = f"more output than the job may give: {len(report.stdout)} bytes of text are kept"
        return Execution(status=sandbox_pb2.STATUS_OUTPUT_LIMIT, error=error)
    if report.killer:
        return Execution(status=sandbox_pb2.STATUS_SIGNAL, error=_death(report))
    if not report.result:
        return Execution(status=sandbox_pb2.STATUS_EXITED, error=f"{_death(report)} and no result")
    try:
        return _parsed_result(json.loads(report.result), names, verdicts)
    except _MALFORMED:
        return Execution(status=sandbox_pb2.STATUS_ERROR, error=_UNREADABLE)


def _parsed_result(result: dict[str, Any], names: Sequence[str], verdicts: Sequence[Verdict] | None) -> Execution:
    if result["status"] in _FAILURES:
        return Execution(status=_FAILURES[result["status"]], error=_clean(result["error"]), error_line=result["line"])
    tagged = result["values"]
    if result["status"] != "ok" or [name for name, _ in tagged] != [identifier(name) for name in names]:
        raise ValueError("the values are not those of the named variables")
    values = [NamedValue(name=name, value=_value(value, 0)) for name, (_, value) in zip(names, tagged, strict=True)]
    done = Execution(status=sandbox_pb2.STATUS_OK, values=values)
    if done.ByteSize() > LIMITS["values_bytes"]:
        error = f"the values take more than {LIMITS['values_bytes']} bytes"
        return Execution(status=sandbox_pb2.STATUS_OUTPUT_LIMIT, error=error)
    evidence = {name: _number(_value(value, 0)) for name, value in result["evidence"]}
    return recompute(done, _verdicts(result) if verdicts is None else verdicts, evidence)


def recompute(done: Execution, verdicts: Sequence[Verdict], evidence: dict[str, float | None]) -> Execution:
    """Recomputes verdicts of `math.isclose` from the numbers that the job returned.

    Adds those that hold to the execution, or returns an error if one contradicts its own numbers.
    """
    values = {identifier(named.name): named.value for named in done.values}
    numbers = evidence | {name: _number(value) for name, value in values.items()}
    for verdict in verdicts:
        reported = values.get(verdict.name)
        left, right = (numbers.get(side) if isinstance(side, str) else side for side in (verdict.left, verdict.right))
        if reported is None or reported.WhichOneof("kind") != "boolean" or left is None or right is None:
            continue
        holds = math.isclose(left, right, rel_tol=verdict.rel_tol, abs_tol=verdict.abs_tol)
        if holds != reported.boolean:
            error = (
                f"{verdict.name} is {reported.boolean}, but math.isclose({left!r}, {right!r}, "
                f"rel_tol={verdict.rel_tol!r}, abs_tol={verdict.abs_tol!r}) is {holds}"
            )
            return Execution(status=sandbox_pb2.STATUS_ERROR, error=error, stdout=done.stdout)
        done.recomputed.append(verdict.name)
    return done


def _number(value: Value) -> float | None:
    """Returns the value if isclose accepts it."""
    match value.WhichOneof("kind"):
        case "real":
            return value.real
        case "integer":
            # isclose converts both sides to floats, which hold nothing larger.
            return int(value.integer) if len(value.integer) <= sys.float_info.max_10_exp else None
        case _:
            return None


def _verdicts(result: dict[str, Any]) -> tuple[Verdict, ...]:
    return tuple(_verdict(*fields) for fields in result["verdicts"])


def _verdict(name: str, left: str | float, right: str | float, rel_tol: float, abs_tol: float) -> Verdict:
    if not (isinstance(name, str) and isinstance(left, str | int | float) and isinstance(right, str | int | float)):
        raise ValueError("a verdict's name or side has another type")
    if not (math.isfinite(rel_tol) and math.isfinite(abs_tol) and min(rel_tol, abs_tol) >= 0):
        raise ValueError("a verdict's tolerance is not a tolerance")
    return Verdict(name=name, left=left, right=right, rel_tol=rel_tol, abs_tol=abs_tol)


def _value(tagged: list[Any], depth: int) -> Value:
    kind, *parts = tagged
    if depth > LIMITS["value_depth"]:
        raise ValueError("a value is nested too deeply")
    if kind == "items":
        return Value(items=Items(items=[_value(item, depth + 1) for item in parts[0]]))
    if kind == "entries":
        pairs = [Entry(key=_value(key, depth + 1), value=_value(value, depth + 1)) for key, value in parts[0]]
        return Value(entries=Entries(entries=pairs))
    return _SCALARS[kind](*parts)


def _integer(digits: str) -> Value:
    if not _INTEGER.fullmatch(digits):
        raise ValueError("an integer has other characters than digits")
    return Value(integer=digits)


def _text(text: str) -> Value:
    try:
        text.encode()
    except UnicodeEncodeError:
        # Lone surrogates have no UTF-8 form, so they fit no protobuf string.
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


def _death(report: JobReport) -> str:
    if not report.killer:
        return f"ended with exit code {report.exit_code}"
    try:
        return f"killed by {signal.Signals(report.killer).name}"
    except ValueError:
        return f"killed by signal {report.killer}"
