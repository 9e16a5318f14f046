"""`soliloquy problems rate`."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.attended import ASKED, AttendedModels
from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, ATTEMPTS, IN_FLIGHT, PROBLEM_FILE_OUT, SEED, whole, writing_to
from soliloquy.cli.terminal import echo
from soliloquy.problems.files.problem_file import read_problems
from soliloquy.problems.sifting.problem_lines import problem_lines
from soliloquy.problems.sifting.sampling import SOLVE_RATE, bin_name, bin_of
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy_papers.scaffold.solve_rate import count_solved


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
def rate(
    *,
    out: Path = PROBLEM_FILE_OUT,
    tries: int = setting("Attempts at each problem.", default=10, type=whole(1, ATTEMPTS)),
    seed: int = SEED,
    in_flight: int = setting("Problems to solve at once.", default=16, type=whole(1, IN_FLIGHT)),
    as_json: bool = AS_JSON,
    source: Path,
    asked: AttendedModels = ASKED,
) -> None:
    """Measure how often a student model solves each problem of a file.

    Writes the same rows with the share of correct answers under `extra.solve_rate`, for `problems split
    --by-solve-rate`. The model of the role student solves the problems. Problems without a numeric answer get no rate.
    """
    with writing_to(out):
        problems = read_problems(source)
        rating = _rates(problems, asked, str(source), tries=tries, seed=seed, in_flight=in_flight, quiet=as_json)
        rates = asyncio.run(rating)
        with atomic_file(out) as file:
            for line in problem_lines(source):
                row = dict(line.row)
                if line.question in rates:
                    row["extra"] = {**line.extra, "solve_rate": rates[line.question]}
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    counts = Counter(bin_of(each) for each in rates.values())
    bins = {bin_name(number): counts[number] for number in range(round(1 / SOLVE_RATE.bin))}
    if as_json:
        echo(json.dumps({"problems": len(problems), "rated": len(rates), "tries": tries, "bins": bins}))
    else:
        filled = ", ".join(f"{name} {count}" for name, count in bins.items())
        echo(f"{len(rates)} of {len(problems)} problems rated in {out}; by solve rate: {filled}")


async def _rates(
    problems: Sequence[Problem], asked: AttendedModels, source: str, *, tries: int, seed: int, **how: Any
) -> dict[str, float]:
    """Returns the solve rates by question."""

    async def rated(problem: Problem, model: Model) -> tuple[str, float]:
        return problem.question, await count_solved(problem, model, tries=tries, seed=seed) / tries

    with_answer = [problem for problem in problems if problem.HasField("answer")]
    return dict(await asked.ask_about_each(with_answer, rated, "problems", **how, problems=[source]))
