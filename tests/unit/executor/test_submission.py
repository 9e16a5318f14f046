"""A job is prepared for a sandbox, or refused with the reason."""

from typing import Any

import pytest

from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Job, Limits
from soliloquy_services.executor.policy import LIMITS, SandboxSettings
from soliloquy_services.executor.submission import LimitExceeded, Submission
from tests.cases import each_case

SETTINGS = SandboxSettings(wall_seconds=2.0, memory_bytes=1 << 29)


def of(code: str = "x = 1", *names: str) -> Submission:
    return Submission.from_job(Job(code=code, result_variables=names), SETTINGS)


def test_code_comes_out_of_its_fence() -> None:
    assert of("```python\nx = 1\n```").code == "x = 1"


@pytest.mark.parametrize("listed", [["a", "b"], ["a, b"], ["['a', 'b']"], ["a", "b, a"]])
def test_names_come_one_by_one_and_once(listed: list[str]) -> None:
    assert of("a = b = 1", *listed).names == ("a", "b")


def test_a_greek_name_is_looked_up_as_python_spells_it() -> None:
    micro_sign, greek_mu = "\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}"
    wanted = of(f"{micro_sign} = 0.3", micro_sign, "Δv")
    assert wanted.names == (micro_sign, "Δv")
    assert wanted.identifiers == [greek_mu, "Δv"]


def test_what_is_not_asked_for_is_the_services_own_limit() -> None:
    wanted = of()
    assert (wanted.wall_seconds, wanted.memory_bytes) == (2.0, 1 << 29)
    assert wanted.stdout_bytes == LIMITS["stdout_bytes"]


def test_less_may_be_asked_for() -> None:
    limits = Limits(wall_seconds=0.5, memory_bytes=1 << 28, stdout_bytes=10)
    wanted = Submission.from_job(Job(code="x = 1", limits=limits), SETTINGS)
    assert (wanted.wall_seconds, wanted.memory_bytes, wanted.stdout_bytes) == (0.5, 1 << 28, 10)


@each_case
def test_more_than_the_service_allows_is_told_the_limit(limits: dict[str, Any], told: str) -> None:
    with pytest.raises(LimitExceeded, match=told):
        Submission.from_job(Job(code="x = 1", limits=Limits(**limits)), SETTINGS)


@pytest.mark.parametrize(
    ("code", "names", "error"),
    [
        ("", [], "there is no code"),
        ("\n \t\n", [], "there is no code"),
        ("```python\n```", [], "there is no code"),
        ("x = 1\n" * 200_000, [], "1199999 bytes of code; a job may have 262144"),
        ("x = 1", ["2x"], "result variable '2x' is not a name"),
        ("x = 1", ["x.y"], "result variable 'x.y' is not a name"),
        ("x = 1", [f"x{n}" for n in range(65)], "65 result variables; a job may have 64"),
    ],
)
def test_a_job_that_no_sandbox_needs_to_see_is_an_error_that_says_why(code: str, names: list[str], error: str) -> None:
    done = of(code, *names).rejection()
    assert done is not None
    assert (done.status, done.error) == (STATUS_ERROR, error)


def test_an_audit_runs_every_job_alone() -> None:
    assert Submission.from_job(Job(code="x = 1"), SandboxSettings(audit=True)).single_use
    assert Submission.from_job(Job(code="x = 1", single_use=True), SETTINGS).single_use
    assert not of().single_use
