"""Vetted code leaves nothing behind for the next job, and means what Python says it means."""

from hypothesis import example, given

from tests.cases import each_case
from tests.unit.executor.programs import PREFACE, programs
from tests.unit.executor.vetted_code import Ran, as_python_does, as_the_worker_does, refusal, world

PROBE = """import math, cmath
from math import *
xs = sorted([abs(-3), max(1, 2), round(2.567, 1), len(str(12.5)), int('7')])
x = math.sin(math.pi / 6) + cmath.sqrt(-4) + sum(xs)
print(f'{pi:.4f}', xs, x)
"""
PROBED = Ran(variables=as_python_does(PROBE).variables, stdout="3.1416 [2, 2.6, 3, 4, 7] (19.1+2j)\n", error="")


@each_case
def test_a_tutoring_snippet_passes_and_means_what_python_says(code: str) -> None:
    assert refusal(code) is None
    assert as_the_worker_does(code) == as_python_does(code)


@each_case
def test_an_attempt_at_what_jobs_share_changes_nothing_for_the_next_job(code: str) -> None:
    before = world()
    if refusal(code) is None:
        as_the_worker_does(code)
    assert world() == before
    assert as_the_worker_does(PROBE) == PROBED


@given(program=programs())
@example(program=PREFACE + "print(math.sqrt(b) + a, xs, f'{pi!r:>8}')")
def test_whatever_passes_means_what_python_says_and_leaves_the_process_as_it_was(program: str) -> None:
    if _unreadable(program) or refusal(program) is not None:
        return
    before = world()
    ran = as_the_worker_does(program)
    assert world() == before
    assert as_the_worker_does(PROBE) == PROBED
    assert ran == as_python_does(program)


def _unreadable(program: str) -> bool:
    try:
        refusal(program)
    except SyntaxError:
        return True
    return False
