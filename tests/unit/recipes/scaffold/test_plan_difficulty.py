"""How often a student solves a problem is counted from its answers, and problems are sampled by it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.problems.sifting.sampling import by_solve_rate, short_bins
from soliloquy_papers.scaffold.solve_rate import count_solved
from tests.unit.answering import Answering
from tests.unit.recipes.conversations import problem


async def test_a_try_counts_when_its_marked_answer_is_the_problems() -> None:
    right = ["W = 180 kJ\nAnswer: 180 kJ", "Answer: 180000 J", r"Answer: \boxed{1.8 × 10^5 J}"]
    wrong = ["It is 180000 J, I think.", "Answer: 18000 J", "Answer: 180000 N", "Answer: no idea", "   "]
    assert await count_solved(problem(), Answering(*right), tries=3, seed=0) == 3
    for text in wrong:
        assert await count_solved(problem(), Answering(text), tries=1, seed=0) == 0


async def test_each_try_has_a_seed_of_its_own_that_follows_from_the_runs() -> None:
    seeds = []
    for seed in (1, 1, 2):
        model = Answering("Answer: 1 J")
        await count_solved(problem(), model, tries=4, seed=seed)
        seeds.append([request.seed for request in model.requests])
    assert seeds[0] == seeds[1] != seeds[2]
    assert len(set(seeds[0])) == 4


def test_bins_that_hold_too_few_are_named() -> None:
    rates = {f"{number}": number % 100 / 100 for number in range(4000) if not 30 <= number % 100 < 40 or number < 135}
    chosen = by_solve_rate(7, rates, 1000)
    assert short_bins(chosen, rates, 1000) == {"0.3-0.4": 15}
    assert short_bins(by_solve_rate(7, rates, 50), rates, 50) == {}


def test_the_rates_of_a_file_are_written_beside_its_rows_and_sampled_by(tmp_path: Path) -> None:
    source, rated, parts = tmp_path / "some.jsonl", tmp_path / "rated.jsonl", tmp_path / "parts"
    run = CliRunner().invoke
    run(commands, ["problems", "sample", "arithmetic", "--count", "40", "--out", str(source)], catch_exceptions=False)
    made = run(commands, ["problems", "rate", str(source), "--out", str(rated), "--json"], catch_exceptions=False)
    report = json.loads(made.stdout)
    assert (report["problems"], report["rated"], sum(report["bins"].values())) == (40, 40, 40)
    before, after = ([json.loads(line) for line in path.read_text().splitlines()] for path in (source, rated))
    assert [row["id"] for row in after] == [row["id"] for row in before]
    assert all(0 <= row["extra"]["solve_rate"] <= 1 for row in after)
    split = ["problems", "split", str(rated), "--out", str(parts), "--sample", "30", "--by-solve-rate"]
    result = run(commands, split)
    assert "have solve rates of" in result.stderr
    assert "problems have solve rates of" in result.stderr


@pytest.mark.parametrize(
    ("content", "line"), [(None, "cannot be read"), ("", "contains no problem"), ("{}\n", "question: is missing")]
)
def test_a_file_that_is_none_is_refused_in_one_line(tmp_path: Path, content: str | None, line: str) -> None:
    source = tmp_path / "none.jsonl"
    if content is not None:
        source.write_text(content, "utf-8")
    result = CliRunner().invoke(commands, ["problems", "rate", str(source), "--out", str(tmp_path / "out.jsonl")])
    assert result.exit_code != 0
    assert line in str(result.exception or result.output) + result.output
    assert not (tmp_path / "out.jsonl").exists()
