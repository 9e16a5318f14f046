"""The benchmark measures what it says it does: its jobs take their lanes, and a wrong result does not pass."""

import ast
import asyncio
import itertools
from typing import Any

import pytest

from benchmarks.sandbox_jobs import Snippet, WrongResult, mixes
from benchmarks.sandbox_load import closed, in_subprocess, paced
from services.executor.guest.vet import vet
from services.executor.policy import kind_for
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, STATUS_OK, Execution, Job, NamedValue, Value

MIXES = mixes()
SNIPPETS = [snippet for name in ("published", "science") for snippet in MIXES[name].snippets]


def snippet(**expected: Any) -> Snippet:
    return Snippet(name="a snippet", job=Job(code="x = 1"), expected=expected)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.name)
async def test_a_plain_subprocess_gives_the_expected_values(snippet: Snippet) -> None:
    await in_subprocess(snippet)


@pytest.mark.parametrize(("mix", "passes"), [("fast", True), ("single-use", True), ("fork", False), ("science", False)])
def test_the_vet_sends_every_snippet_where_its_mix_says(mix: str, passes: bool) -> None:
    assert [one.name for one in MIXES[mix].snippets if (vet(ast.parse(one.job.code)).refused is None) != passes] == []


def test_the_science_needs_sandboxes_with_packages_and_the_rest_none() -> None:
    kinds = {
        name: {kind_for(vet(ast.parse(one.job.code)).imports) for one in mix.snippets} for name, mix in MIXES.items()
    }
    assert kinds.pop("science") == {"numpy", "sympy"}
    assert set().union(*kinds.values()) == {"math"}


def test_the_published_mix_holds_nine_fast_jobs_to_a_fork_in_every_block() -> None:
    mix = MIXES["published"]
    order = list(itertools.islice(mix.in_order(seed=1), 1_000))
    forks = [sum(one in mix.groups["fork"] for one in order[start : start + 10]) for start in range(0, 1_000, 10)]
    assert forks == [1] * 100
    assert {one.name for one in order} == {one.name for one in mix.snippets}


def test_the_same_seed_gives_the_same_order_and_another_gives_another() -> None:
    first, again, other = (
        [one.name for one in itertools.islice(MIXES["published"].in_order(seed), 100)] for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize(
    "value",
    [Value(real=1.5000001), Value(integer="1"), Value(boolean=True), Value(none=True), Value(unserialisable="float")],
)
def test_another_value_is_wrong(value: Value) -> None:
    done = Execution(status=STATUS_OK, values=[NamedValue(name="x", value=value)])
    with pytest.raises(WrongResult, match="'a snippet' gave"):
        snippet(x=1.5).check(done)


def test_a_right_value_passes_and_a_missing_one_does_not() -> None:
    done = Execution(status=STATUS_OK, values=[NamedValue(name="x", value=Value(real=1.5))])
    snippet(x=1.5).check(done)
    with pytest.raises(WrongResult):
        snippet(x=1.5, y=2).check(done)


def test_a_job_that_fails_is_wrong_and_says_why() -> None:
    with pytest.raises(WrongResult, match="'a snippet' ended with STATUS_ERROR: NameError"):
        snippet().check(Execution(status=STATUS_ERROR, error="NameError"))


async def test_a_subprocess_that_fails_is_wrong_and_says_why() -> None:
    with pytest.raises(WrongResult, match="'a snippet' ended with 1 in a subprocess: KeyError: 'y'"):
        await in_subprocess(snippet(y=1))


async def test_closed_load_has_as_many_jobs_under_way_as_callers() -> None:
    under_way: list[int] = []
    running = 0

    async def run(_: Snippet) -> None:
        nonlocal running
        running += 1
        under_way.append(running)
        await asyncio.sleep(0)
        running -= 1

    stint = await closed(run, itertools.repeat(snippet()), callers=3, seconds=0.01)
    assert max(under_way) == 3
    assert stint.jobs == len(under_way)


async def test_a_wrong_result_ends_the_load() -> None:
    async def run(_: Snippet) -> None:
        raise WrongResult("not so")

    with pytest.raises(WrongResult, match="not so"):
        await closed(run, itertools.repeat(snippet()), callers=3, seconds=60)
    with pytest.raises(WrongResult, match="not so"):
        await paced(run, itertools.repeat(snippet()), rate=1_000, seconds=0.01, seed=1)


async def test_paced_load_waits_for_no_answer() -> None:
    answers = asyncio.Event()
    sent = 0

    async def run(_: Snippet) -> None:
        nonlocal sent
        sent += 1
        if sent == 5:
            answers.set()
        await answers.wait()

    stint = await paced(run, itertools.repeat(snippet()), rate=1_000, seconds=0.1, seed=1)
    assert stint.jobs == sent > 5
