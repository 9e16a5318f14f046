"""The benchmark measures what it says it does: its jobs take their lanes, and a wrong result does not pass."""

import ast
import itertools
from typing import Any

import pytest

from benchmarks.sandbox_jobs import Snippet, WrongResult, mixes
from benchmarks.sandbox_load import closed, in_subprocess, paced
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Execution, Job, NamedValue, Value
from soliloquy_services.executor.guest.vet import vet

MIXES = mixes()
SNIPPETS = [snippet for name in ("published", "science") for snippet in MIXES[name].snippets]


def snippet(**expected: Any) -> Snippet:
    return Snippet(name="a snippet", job=Job(code="x = 1"), expected=expected)


@pytest.mark.thorough
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.name)
async def test_a_plain_subprocess_gives_the_expected_values(snippet: Snippet) -> None:
    await in_subprocess(snippet)


@pytest.mark.parametrize(("mix", "passes"), [("fast", True), ("single-use", True), ("fork", False), ("science", False)])
def test_the_vet_sends_every_snippet_where_its_mix_says(mix: str, passes: bool) -> None:
    assert [one.name for one in MIXES[mix].snippets if (vet(ast.parse(one.job.code)).refused is None) != passes] == []


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


async def test_a_wrong_result_ends_the_load() -> None:
    async def run(_: Snippet) -> None:
        raise WrongResult("not so")

    with pytest.raises(WrongResult, match="not so"):
        await closed(run, itertools.repeat(snippet()), callers=3, seconds=60)
    with pytest.raises(WrongResult, match="not so"):
        await paced(run, itertools.repeat(snippet()), rate=1_000, seconds=0.01, seed=1)
