"""Rounds of word problems: kept problems are learned, losses are reported, and nothing happens twice."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from soliloquy.client import Dataset
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.weights import ADAPTER_WEIGHTS, digest_of
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_papers.mathwell.commands.rounds import ImprovementFolder
from tests.datasets import accepted_rows, rejected_rows, written
from tests.integration.training.conftest import SETTINGS
from tests.integration.training.processes import train
from tests.integration.training.rounds import Killed
from tests.unit.papers.mathwell.writing import Says, commissioned, made

FAULTS = find("mathwell").faults
ASKED = 10


@cache
def problems() -> tuple[list[Conversation], list[Conversation]]:
    """Returns good problems, and some whose functions fail."""

    async def write() -> tuple[list[Conversation], list[Conversation]]:
        topics = ("penguins", "kites", "frogs")
        drawn = [await made(commissioned(topics[n % 3]), run=f"good-{n}") for n in range(30)]
        broken = Says(code="def solution():\n    return nothing")
        return (
            [one for one in drawn if not FAULTS(one)],
            [await made(commissioned(), broken, run=f"bad-{n}") for n in range(ASKED)],
        )

    return asyncio.run(write())


class Writer:
    """Writes a given number of good problems in each round, and repeats some of the round before."""

    def __init__(self, *kept: int, repeated: int = 0) -> None:
        self._kept = kept
        self._repeated = repeated
        self.asked: list[tuple[int, Path | None]] = []

    def __call__(self, number: int, adapter: Path | None, folder: Path) -> None:
        self.asked.append((number, adapter))
        good, bad = problems()
        begin = sum(self._kept[:number])
        kept = good[begin : begin + self._kept[number]]
        again = [_as_another(one) for one in islice(good, self._repeated if number else 0)]
        failed = bad[: ASKED - len(kept) - len(again)]
        shards = [("rejected/00000.parquet", rejected_rows([(one, FAULTS(one)) for one in failed]))]
        if kept or again:
            shards.append(("accepted/00000.parquet", accepted_rows([*kept, *again])))
        written(folder, shards, recipe="mathwell")


def _as_another(conversation: Conversation) -> Conversation:
    another = Conversation()
    another.CopyFrom(conversation)
    another.id = f"{conversation.id}-again"
    return another


@pytest.fixture
def improving(base: Path, tmp_path: Path) -> Callable[..., Any]:
    from soliloquy_papers.mathwell.commands.rounds import Improvement, WriterTraining

    def make(name: str, writer: Writer, *, start: str = "", **differing: Any) -> Improvement:
        settings = SETTINGS.model_copy(update={"max_steps": 1, **differing})
        return Improvement(
            rounds=ImprovementFolder(tmp_path / name),
            school=WriterTraining(base=base, settings=settings, train=train, start=start),
            write=writer,
            tell=lambda number, step: None,
        )

    return make


def test_what_is_kept_is_learned_and_a_round_that_got_worse_is_said_so_and_is_not_the_best(
    improving: Callable[..., Any],
) -> None:
    rounds = improving("three", writer := Writer(4, 1, 6))
    report = rounds.run(2, {"seed": 1})
    first, second, third = report["rounds"]
    assert [one["figures"]["asked"] for one in report["rounds"]] == [ASKED] * 3
    assert [one["figures"]["fresh"] for one in report["rounds"]] == [4, 1, 6]
    assert [one["learned"] for one in report["rounds"]] == [0, 4, 5]
    assert [one["remark"] for one in report["rounds"]] == [
        "the writer as it was",
        "worse than round 0, which stays the best, though chance alone may explain the difference",
        "better than round 0, though chance alone may explain the difference",
    ]
    assert (first["adapter_digest"], first["loss"]) == ("", None)
    for number, one in ((1, second), (2, third)):
        training = rounds.rounds.round(number).training
        assert one["adapter_digest"] == digest_of([training / "adapter" / ADAPTER_WEIGHTS])
        assert writer.asked[number] == (number, training / "adapter")
    assert (report["best"], report["adapter"]) == (2, str(rounds.rounds.round(2).adapter))

    page = (rounds.rounds.folder / "rounds.md").read_text("utf-8")
    assert f"| 1 | {second['adapter_digest'][:12]} | 4 | " in page
    assert "| 10.0 (2 to 40) |" in page
    assert f"The best writer is that of round 2: `{report['adapter']}`." in page
    assert json.loads((rounds.rounds.folder / "rounds.json").read_bytes()) == report


def test_rounds_that_are_killed_at_every_step_come_to_the_same_end_and_do_nothing_twice(
    improving: Callable[..., Any],
) -> None:
    whole = improving("whole", Writer(3, 2))
    cut = improving("cut", writer := Writer(3, 2))
    survived: set[tuple[int, str]] = set()

    def tell(number: int, step: str) -> None:
        if (number, step) not in survived:
            survived.add((number, step))
            raise Killed(step)

    cut, killed, report = replace(cut, tell=tell), 0, None
    while report is None:
        try:
            report = cut.run(1, {})
        except Killed:
            killed += 1
    assert killed == len(
        {"writing", "the end of round 0", "freezing", "training", "writing again", "the end of round 1"}
    )
    assert [number for number, _ in writer.asked] == [0, 1]
    as_others = {"adapter": str(whole.rounds.round(1).adapter)} if report["adapter"] else {}
    assert report | as_others == whole.run(1, {})


@pytest.mark.thorough
def test_what_says_the_same_as_a_problem_before_it_is_neither_counted_nor_learned(
    improving: Callable[..., Any],
) -> None:
    rounds = improving("repeating", Writer(3, 2, 1, repeated=2))
    _, second, third = rounds.run(2, {})["rounds"]
    assert [(one["figures"]["kept"], one["figures"]["near_duplicates"]) for one in (second, third)] == [(4, 2), (3, 2)]
    assert third["learned"] == 5
    learned = [one.problem.question for one in Dataset(rounds.rounds.round(2).data)]
    assert len(learned) == len(set(learned)) == 5


def test_rounds_end_where_nothing_new_is_to_learn_and_say_why(improving: Callable[..., Any], tmp_path: Path) -> None:
    assert "no problems were kept to learn from" in improving("none", Writer(0)).run(2, {})["ended"]

    start = written(tmp_path / "start", [("accepted/00000.parquet", accepted_rows(problems()[0][-3:]))])
    report = improving("started", Writer(0, 0), start=str(start)).run(2, {})
    assert [one["learned"] for one in report["rounds"]] == [0, 3]
    assert report["ended"] == "round 1 added no new problems to learn from"
    assert (report["best"], report["adapter"]) == (0, "")


def test_a_training_that_diverged_leaves_a_row_that_says_so(improving: Callable[..., Any]) -> None:
    wild = improving("wild", Writer(3, 9), epochs=2, max_steps=2, learning_rate=1e25, clip=1e30)
    _, second = wild.run(1, {})["rounds"]
    assert second["remark"].startswith("diverged: the loss of step 2 is")
    assert (second["figures"], second["learned"]) == (None, 3)


def test_the_folder_of_other_rounds_is_refused_in_a_line(improving: Callable[..., Any]) -> None:
    rounds = improving("once", Writer(3))
    replace(rounds, school=None).run(0, {"seed": 1})
    with pytest.raises(Failure, match=r"holds another improvement \(seed: 1, not 2\): choose another --out"):
        rounds.run(0, {"seed": 2})
