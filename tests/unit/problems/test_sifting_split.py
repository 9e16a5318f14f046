"""Promises of splits and samples: where a problem goes follows from its id and the seed."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.problems.sifting.sampling import even_shares
from soliloquy.problems.sifting.split import SplitPlan, SplitShares, split
from soliloquy.runtime.failure import Failure


def problem(number: int, **extra: Any) -> dict[str, Any]:
    return {"id": f"p{number}", "question": f"Question {number}?", "solution": "So.", "extra": extra}


def parted(
    folder: Path,
    rows: Iterable[dict[str, Any]],
    *,
    train: float = 0.8,
    unseen: float = 1.0,
    seed: int = 1,
    **plan: Any,
) -> dict[str, list[dict[str, Any]]]:
    source = folder / "all.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    out = folder / "parts"
    made = split(source, out, SplitPlan(shares=SplitShares(train=train, unseen=unseen, seed=seed), **plan))
    parts = {path.stem: [*map(json.loads, path.read_text("utf-8").splitlines())] for path in out.glob("*.jsonl")}
    assert made == json.loads((out / "split.json").read_text("utf-8"))
    assert made["parts"] == {
        name: {"rows": len(part), "problems": len({row["id"] for row in part})} for name, part in parts.items()
    }
    return parts


def ids(rows: Iterable[dict[str, Any]]) -> set[str]:
    return {row["id"] for row in rows}


def test_every_problem_is_in_one_part(tmp_path: Path) -> None:
    parts = parted(tmp_path, map(problem, range(2000)))
    assert set(parts) == {"train", "test-unseen"}
    assert len(parts["train"]) == pytest.approx(1600, abs=60)
    assert not ids(parts["train"]) & ids(parts["test-unseen"])
    assert len(parts["train"]) + len(parts["test-unseen"]) == 2000


def test_problems_that_join_move_no_other(tmp_path: Path) -> None:
    first = parted(tmp_path, map(problem, range(500)))
    more = parted(tmp_path, map(problem, reversed(range(900))))
    for name, rows in first.items():
        assert ids(rows) <= ids(more[name])


def test_another_seed_makes_another_split(tmp_path: Path) -> None:
    tests = [ids(parted(tmp_path, map(problem, range(500)), seed=seed)["test-unseen"]) for seed in (1, 1, 2)]
    assert tests[0] == tests[1] != tests[2]


def dialogues(problems: int, each: int) -> list[dict[str, Any]]:
    return [problem(number, dialogue=at) for number in range(problems) for at in range(each)]


def test_dialogues_are_parted_as_mathdial_does(tmp_path: Path) -> None:
    parts = parted(tmp_path, dialogues(3000, 3), unseen=0.4)
    train, seen, unseen = (parts[name] for name in ("train", "test-seen", "test-unseen"))
    assert len(train) / 9000 == pytest.approx(0.8, abs=0.02)
    assert len(seen) / (len(seen) + len(unseen)) == pytest.approx(0.6, abs=0.04)
    assert ids(seen) <= ids(train)
    assert not ids(unseen) & (ids(train) | ids(seen))


def test_dialogues_that_join_move_none_about_other_problems(tmp_path: Path) -> None:
    first = parted(tmp_path, dialogues(200, 2), unseen=0.4)
    more = parted(tmp_path, [*dialogues(200, 2), *(problem(n, dialogue=9) for n in range(200, 400))], unseen=0.4)
    assert all(row in more[name] for name, rows in first.items() for row in rows)


def test_a_problem_with_one_dialogue_is_never_called_seen(tmp_path: Path) -> None:
    rows = [*dialogues(300, 2), *(problem(number) for number in range(300, 900))]
    parts = parted(tmp_path, rows, unseen=0.4, train=0.5)
    assert parts["test-seen"]
    assert ids(parts["test-seen"]) <= ids(parts["train"])


def test_a_file_with_one_row_a_problem_has_none_to_see_again(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"--unseen requires several rows per problem"):
        parted(tmp_path, map(problem, range(20)), unseen=0.4)
    assert not (tmp_path / "parts").exists()


def test_an_earlier_split_leaves_nothing_behind(tmp_path: Path) -> None:
    parted(tmp_path, dialogues(50, 3), unseen=0.4)
    assert set(parted(tmp_path, dialogues(50, 3))) == {"train", "test-unseen"}


@pytest.mark.parametrize("by", ["difficulty", "topic"])
def test_a_stratified_split_has_its_shares_in_every_stratum(tmp_path: Path, by: str) -> None:
    sizes = {"1": 50, "2": 105, "": 11}
    rows: list[dict[str, Any]] = []
    for value, size in sizes.items():
        for _ in range(size):
            row = problem(len(rows))
            if value:
                (row["extra"] if by == "difficulty" else row)[by] = value
            rows.append(row)
    parts = parted(tmp_path, rows, stratify=by)
    where = (lambda row: row["extra"].get(by, "")) if by == "difficulty" else (lambda row: row.get(by, ""))
    assert Counter(map(where, parts["test-unseen"])) == {"1": 10, "2": 21, "": 2}


def test_rows_without_ids_are_told_apart_by_their_questions(tmp_path: Path) -> None:
    rows = [{"id": None, "question": f"Question  {number}?", "solution": "So."} for number in range(100)]
    source = tmp_path / "all.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    made = split(source, tmp_path / "parts", SplitPlan(shares=SplitShares(train=0.5, unseen=1, seed=1)))
    assert made["problems"] == 100


def test_a_sample_by_solve_rate_is_mostly_hard_and_even_over_the_rates(tmp_path: Path) -> None:
    rows = [problem(number, solve_rate=number % 100 / 100) for number in range(5000)] + [problem(9999)]
    parts = parted(tmp_path, rows, sample=600, by_solve_rate=True, train=1)
    bins = Counter(int(row["extra"]["solve_rate"] * 10 + 1e-9) for row in parts["train"])
    assert bins == {**dict.fromkeys(range(6), 80), **dict.fromkeys(range(6, 10), 30)}
    assert parts["test-unseen"] == []


def test_a_bin_that_is_short_is_made_up_for_by_those_beside_it_and_never_by_the_other_side(tmp_path: Path) -> None:
    rows = [problem(number, solve_rate=0.05) for number in range(10)]
    rows += [problem(number, solve_rate=0.35) for number in range(100, 900)]
    rows += [problem(number, solve_rate=1.0) for number in range(1000, 1005)]
    parts = parted(tmp_path, rows, sample=100, by_solve_rate=True, train=1)
    assert Counter(row["extra"]["solve_rate"] for row in parts["train"]) == {0.05: 10, 0.35: 70, 1.0: 5}


def test_solve_rates_that_are_none_are_no_rates(tmp_path: Path) -> None:
    rows = [problem(1, solve_rate="nan"), problem(2, solve_rate=None), problem(3, solve_rate=7)]
    with pytest.raises(Failure, match=r"extra\.solve_rate, from 0 to 1"):
        parted(tmp_path, rows, sample=2, by_solve_rate=True)


def test_a_sample_by_topic_is_even_over_the_topics(tmp_path: Path) -> None:
    rows = [{**problem(n), "topic": "heat" if n < 20 else "optics" if n < 500 else "waves"} for n in range(2000)]
    parts = parted(tmp_path, rows, sample=300, stratify="topic", train=1)
    assert Counter(row["topic"] for row in parts["train"]) == {"heat": 20, "optics": 140, "waves": 140}


def test_a_larger_sample_holds_the_smaller_one(tmp_path: Path) -> None:
    small, large = (ids(parted(tmp_path, map(problem, range(400)), sample=n, train=1)["train"]) for n in (50, 90))
    assert (len(small), len(large)) == (50, 90)
    assert small < large


@given(
    wanted=st.integers(0, 300), sizes=st.dictionaries(st.text(max_size=3), st.integers(0, 100), min_size=1, max_size=8)
)
def test_shares_are_as_even_as_the_bins_allow(wanted: int, sizes: dict[str, int]) -> None:
    taken = even_shares(wanted, sizes)
    assert sum(taken.values()) == min(wanted, sum(sizes.values()))
    largest = max(taken.values())
    assert all(count >= largest - 1 or count == sizes[name] for name, count in taken.items())
