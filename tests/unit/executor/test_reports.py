"""Nothing that comes out of a sandbox is trusted."""

import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import Execution, NamedValue, Value
from soliloquy_services.executor import reports
from soliloquy_services.executor.guest.values import Tagger
from soliloquy_services.executor.guest.verdicts import Verdict
from soliloquy_services.executor.guest.wire import DIED, ENDED, FLOODED, REFUSED, REPORT, TIMED_OUT
from soliloquy_services.executor.policy import LIMITS

_UNREADABLE = "the job left no readable result"


def payload(
    result: bytes = b"", *, end: int = ENDED, killer: int = 0, seconds: float = 0.1, stdout: bytes = b""
) -> bytes:
    return REPORT.pack(1, end, 0, killer, False, seconds, len(stdout)) + stdout + result


def outcome(told: Any, *names: str) -> Execution:
    """Returns the execution for a result that a forked child reports."""
    if isinstance(told, dict):
        told = {"evidence": []} | told
    return reports.execution(reports.parse(payload(json.dumps(told).encode())), names, verdicts=())


@given(st.binary(max_size=200))
def test_a_report_is_read_or_refused_whatever_its_bytes(data: bytes) -> None:
    try:
        report = reports.parse(data)
    except reports.InvalidReport:
        return
    assert reports.execution(report, ["x"]).status != sandbox_pb2.STATUS_UNSPECIFIED


@given(
    st.binary(max_size=100)
    | st.recursive(st.none() | st.text() | st.integers(), st.lists, max_leaves=8).map(json.dumps).map(str.encode)
)
def test_a_result_is_read_or_refused_whatever_its_bytes(result: bytes) -> None:
    done = reports.execution(reports.parse(payload(result)), ["x"])
    assert (done.status, done.error) in (
        (sandbox_pb2.STATUS_ERROR, _UNREADABLE),
        (sandbox_pb2.STATUS_EXITED, "ended with exit code 0 and no result"),
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        payload()[:-1],
        payload(end=7),
        payload(seconds=math.nan),
        REPORT.pack(1, ENDED, 0, 0, False, 0.1, 100) + b"short",
    ],
)
def test_a_report_that_no_sound_zygote_writes_is_refused(data: bytes) -> None:
    with pytest.raises(reports.InvalidReport):
        reports.parse(data)


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {},
        {"status": []},
        {"status": "ok"},
        {"status": "ok", "values": []},
        {"status": "ok", "values": [["y", ["none"]]]},
        {"status": "ok", "values": [["x", []]]},
        {"status": "ok", "values": [["x", ["none"]]], "evidence": [["y", ["real"]]]},
        {"status": "ok", "values": [["x", ["none"]]], "evidence": None},
        {"status": "ok", "values": [["x", [["none"]]]]},
        {"status": "ok", "values": [["x", ["integer", "1; drop"]]]},
        {"status": "ok", "values": [["x", ["integer", "١"]]]},
        {"status": "ok", "values": [["x", ["real", 10**400]]]},
        {"status": "ok", "values": [["x", ["text", 5]]]},
        {"status": "ok", "values": [["x", ["boolean", "yes"]]]},
        {"status": "ok", "values": [["x", ["entries", [[["none"]]]]]]},
        {"status": "error", "error": "E", "line": 2**40},
        {"status": "error", "error": 5, "line": 1},
    ],
)
def test_a_result_that_no_honest_child_writes_is_an_error_of_the_job(told: Any) -> None:
    done = outcome(told, "x")
    assert (done.status, done.error) == (sandbox_pb2.STATUS_ERROR, _UNREADABLE)
    assert not done.values


def test_values_nested_deeper_than_the_limit_are_refused() -> None:
    tagged: list[Any] = ["none"]
    for _ in range(LIMITS["value_depth"] + 1):
        tagged = ["items", [tagged]]
    assert outcome({"status": "ok", "values": [["x", tagged]]}, "x").error == _UNREADABLE


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (payload(end=TIMED_OUT, killer=9), sandbox_pb2.STATUS_TIMEOUT),
        (payload(killer=24), sandbox_pb2.STATUS_TIMEOUT),
        (payload(end=FLOODED, killer=9), sandbox_pb2.STATUS_OUTPUT_LIMIT),
        (payload(killer=11), sandbox_pb2.STATUS_SIGNAL),
        (payload(killer=999), sandbox_pb2.STATUS_SIGNAL),
        (payload(), sandbox_pb2.STATUS_EXITED),
    ],
)
def test_how_a_job_ended_decides_its_status(data: bytes, status: int) -> None:
    assert reports.execution(reports.parse(data), []).status == status


@pytest.mark.parametrize(
    "verdicts",
    [None, [[]], [["x", 1, 2, 0.1]], [[[], 1, 2, 0.1, 0.0]], [["x", [], 2, 0.1, 0.0]], [["x", 1, 2, -0.1, 0.0]]],
)
def test_verdicts_that_no_vetted_worker_tells_are_an_error_of_the_job(verdicts: Any) -> None:
    told = json.dumps({"status": "ok", "values": [["x", ["boolean", True]]], "evidence": [], "verdicts": verdicts})
    assert reports.execution(reports.parse(payload(told.encode())), ["x"]).error == _UNREADABLE


def test_a_forked_child_cannot_vouch_for_its_own_verdict() -> None:
    told = {"status": "ok", "values": [["x", ["boolean", True]]], "verdicts": [["x", 1.0, 1.0, 0.1, 0.0]]}
    assert not outcome(told, "x").recomputed


def test_a_refusal_says_what_the_code_imports() -> None:
    told = json.dumps({"refused": "line 1: import numpy", "imports": ["numpy"], "verdicts": [["x", "a", 2.5, 0.01, 0]]})
    vetting = reports.vet_findings(reports.parse(payload(told.encode(), end=REFUSED)))
    assert (vetting.refused, vetting.imports) == ("line 1: import numpy", ("numpy",))
    assert vetting.verdicts[0].left == "a"


@pytest.mark.parametrize("told", [b"", b"[]", b'{"refused": 5, "imports": [], "verdicts": []}', b'{"refused": ""}'])
def test_a_refusal_that_cannot_be_read_is_the_sandboxes_fault(told: bytes) -> None:
    with pytest.raises(reports.InvalidReport):
        reports.vet_findings(reports.parse(payload(told, end=REFUSED)))


def test_a_worker_that_died_has_refused() -> None:
    vetting = reports.vet_findings(reports.parse(payload(end=DIED, killer=11)))
    assert vetting.refused == "the vetted worker died on it: killed by SIGSEGV"


def test_output_that_is_no_utf8_is_still_text() -> None:
    result = json.dumps({"status": "ok", "values": [], "evidence": [], "verdicts": []}).encode()
    assert reports.execution(reports.parse(payload(result, stdout=b"v\xff")), []).stdout == "v\ufffd"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES)
def test_what_the_guest_tags_the_host_reads(value: Any) -> None:
    tagged = json.loads(json.dumps(Tagger(units=LIMITS["value_units"], depth=LIMITS["value_depth"]).tag(value)))
    done = outcome({"status": "ok", "values": [["x", tagged]]}, "x")
    assert done.status == sandbox_pb2.STATUS_OK
    assert repr(_plain(done.values[0].value)) == repr(value)


def _plain(value: sandbox_pb2.Value) -> Any:
    match value.WhichOneof("kind"):
        case "none":
            return None
        case "integer":
            return int(value.integer)
        case "complex":
            return complex(value.complex.real, value.complex.imaginary)
        case "items":
            return [_plain(item) for item in value.items.items]
        case "entries":
            return {_plain(entry.key): _plain(entry.value) for entry in value.entries.entries}
        case kind:
            return getattr(value, str(kind))


YES, NO = Value(boolean=True), Value(boolean=False)
MICRO_SIGN, GREEK_MU = "\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}"
LARGE = 9007199254740993


def recomputed(values: dict[str, Value], left: Any, right: Any, rel_tol: float = 0.01, **evidence: float) -> Execution:
    """Returns an execution whose verdict `right` compares two sides."""
    named = [NamedValue(name=name, value=value) for name, value in values.items()]
    done = Execution(status=sandbox_pb2.STATUS_OK, values=named, stdout="out")
    verdict = Verdict(name="right", left=left, right=right, rel_tol=rel_tol, abs_tol=0.0)
    return reports.recompute(done, [verdict], dict(evidence))


def test_a_verdict_that_holds_is_named_whatever_its_numbers_come_from() -> None:
    for done in (
        recomputed({"right": YES, "t": Value(real=3.4268)}, 3.43, "t"),
        recomputed({"right": YES}, "s", "t", s=1.0, t=1.0),
        # Integers count as they are, and a name as Python spells it.
        recomputed({"right": YES, "n": Value(integer=str(LARGE))}, "n", LARGE, 0.0),
        recomputed({"right": YES, MICRO_SIGN: Value(real=0.3)}, 0.3, GREEK_MU),
    ):
        assert (done.status, list(done.recomputed)) == (sandbox_pb2.STATUS_OK, ["right"])


@pytest.mark.parametrize(
    ("claimed", "t", "shown"), [(YES, 15.2, "is True, but .* is False"), (NO, 3.43, "is False, but .* is True")]
)
def test_a_verdict_that_contradicts_its_numbers_is_an_error(claimed: Value, t: float, shown: str) -> None:
    done = recomputed({"right": claimed, "t": Value(real=t)}, 3.43, "t")
    assert (done.status, list(done.values), done.stdout) == (sandbox_pb2.STATUS_ERROR, [], "out")
    assert re.search(shown, done.error)


@pytest.mark.parametrize(
    "values",
    [
        {"right": YES},
        {"right": YES, "t": Value(text="3.43")},
        {"right": YES, "t": Value(integer="1" + "0" * 400)},
        {"right": Value(integer="1"), "t": Value(real=3.43)},
        {"t": Value(real=3.43)},
    ],
)
def test_what_cannot_be_computed_again_is_left_as_it_is(values: dict[str, Value]) -> None:
    done = recomputed(values, 3.43, "t")
    assert (done.status, list(done.recomputed)) == (sandbox_pb2.STATUS_OK, [])
