"""A job returns its values, and knows nothing of earlier jobs."""

import asyncio

import pytest

from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import LANE_FAST, LANE_FORK, Execution, Lane
from soliloquy_services.executor.pool import SandboxPool
from tests.cases import each_case
from tests.integration.executor.support import assert_ordinary_job_is_right, job, needs_runsc, value_of

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("lane", [LANE_FAST, LANE_FORK])
async def test_an_execution_says_what_contained_it(pool: SandboxPool, lane: Lane) -> None:
    done = await assert_ordinary_job_is_right(pool, lane=lane)
    assert done.isolation in ("gvisor-ptrace", "gvisor-systrap")
    assert done.runsc_version
    assert 0 < done.seconds < 60
    assert 0 < done.waited_seconds < 60


async def test_the_same_job_gives_the_same_execution(pool: SandboxPool) -> None:
    code = "import random\nx = [random.random(), list({'a', 'b', 'c', 'd'}), hash('a')]\nprint(x)"
    first, second = [await pool.execute(job(code, "x")) for _ in range(2)]
    for done in (first, second):
        done.ClearField("seconds")
        done.ClearField("waited_seconds")
    assert first == second
    assert first.stdout


@each_case
async def test_a_value_that_cannot_leave_is_named_by_its_type(pool: SandboxPool, code: str, type_name: str) -> None:
    assert (await value_of(pool, code)).unserialisable == type_name


async def test_a_planted_key_runs_no_code_while_variables_are_read(pool: SandboxPool) -> None:
    code = (
        "class K(str):\n  __hash__ = str.__hash__\n  def __eq__(s, o): print('ran'); return True\nglobals()[K('x')] = 1"
    )
    done = await pool.execute(job(code, "x"))
    assert done.error == "NameError: result variable 'x' is not defined"
    assert "ran" not in done.stdout


async def test_values_too_big_for_an_event_are_an_output_limit(pool: SandboxPool) -> None:
    done = await pool.execute(job("x = [0.5j] * 16_000", "x"))
    assert done.status == sandbox_pb2.STATUS_OUTPUT_LIMIT
    assert not done.values


@each_case
async def test_an_error_is_told_as_python_tells_it(pool: SandboxPool, code: str, error: str, line: int) -> None:
    done = await pool.execute(job(code, "x"))
    assert (done.status, done.error, done.error_line) == (sandbox_pb2.STATUS_ERROR, error, line)


async def test_output_comes_back_and_stderr_does_not(pool: SandboxPool) -> None:
    done = await pool.execute(
        job("import sys\nprint('v = 3.2 m/s')\nprint('noise', file=sys.stderr)\nprint('\\ud800')")
    )
    assert done.stdout == "v = 3.2 m/s\n\\ud800\n"


async def test_output_before_an_error_is_kept(pool: SandboxPool) -> None:
    done = await pool.execute(job("print('before')\n1 / 0"))
    assert (done.stdout, done.error_line) == ("before\n", 2)


async def test_a_dataclass_works_as_in_a_module_of_its_own(pool: SandboxPool) -> None:
    code = (
        "from __future__ import annotations\nfrom dataclasses import *\n@dataclass\nclass P:\n  v: float\nx = P(2.5).v"
    )
    assert (await value_of(pool, code)).real == 2.5


async def test_each_job_has_a_uid_of_its_own(pool: SandboxPool) -> None:
    uids = [(await value_of(pool, "import os; x = os.getuid()")).integer for _ in range(3)]
    assert len(set(uids)) == 3
    assert "0" not in uids


async def test_a_caller_that_gives_up_does_not_shift_the_answers(pool: SandboxPool) -> None:
    abandoned = asyncio.create_task(pool.execute(job("import time; time.sleep(0.3); x = 'abandoned'", "x")))
    following = asyncio.create_task(pool.execute(job("x = 'following'", "x")))
    await asyncio.sleep(0)
    abandoned.cancel()
    done: Execution = await following
    assert done.values[0].value.text == "following"
