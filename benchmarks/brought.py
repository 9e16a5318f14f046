"""`python -m benchmarks brought`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

import click
from pydantic import ValidationError
from rich.console import Console

from benchmarks.command import AS_JSON
from soliloquy.cli.tables import table
from soliloquy.problems.files.imported_row import import_row
from soliloquy.problems.files.problem_from_row import BadField, problem_from_row
from soliloquy.problems.files.source_format import SourceFormat
from soliloquy.truth.support import has_supported_answer
from soliloquy.v1.conversation_pb2 import Problem

BROUGHT = Path(__file__).parents[1] / "tests" / "unit" / "problems" / "brought"
_COLUMNS = ("question", "solution", "answer", "steps")


@dataclass(kw_only=True)
class Judged:
    """How the problems of a file were received."""

    good: int = 0
    good_refused: int = 0
    planted: int = 0
    planted_refused: int = 0
    # Taken although something in it is false, and with an answer that its solution seems to calculate.
    planted_supported: int = 0
    # The problems that were received wrongly, with the reason.
    wrong: list[str] = field(default_factory=list)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=BROUGHT)
@click.option("--list", "listed", is_flag=True, help="List what is received wrongly.")
@AS_JSON
def brought(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Count which of the labelled problems in FOLDER are refused, and which false ones are taken as right.

    Each line of a JSONL file has a `row`, and in `planted` what is false in it; that is empty if all of it is right.
    The five sets of this repository were written and labelled before the reader was run on them.
    """
    files = judge(folder)
    if as_json:
        click.echo(json.dumps({name: asdict(judged) for name, judged in files.items()}))
        return
    made = table("", "good", "refused", "with an error", "refused", "unverified", "taken as right")
    for name, judged in (files | totals(files)).items():
        unverified = judged.planted - judged.planted_refused - judged.planted_supported
        errors = (judged.planted, judged.planted_refused, unverified, judged.planted_supported)
        made.add_row(name, *map(str, (judged.good, judged.good_refused, *errors)))
    Console().print(made)
    for judged in files.values() if listed else ():
        click.echo("\n".join(judged.wrong))


def judge(folder: Path) -> dict[str, Judged]:
    """Returns what became of each file, by its path without the suffix."""
    paths = sorted(folder.rglob("*.jsonl"))
    return {path.relative_to(folder).with_suffix("").as_posix(): _judge_file(path) for path in paths}


def totals(files: Mapping[str, Judged]) -> dict[str, Judged]:
    """Returns the sum over the files of each set."""
    sums: dict[str, Judged] = {}
    for name, judged in files.items():
        total = sums.setdefault(f"{PurePath(name).parent}/", Judged())
        total.good += judged.good
        total.good_refused += judged.good_refused
        total.planted += judged.planted
        total.planted_refused += judged.planted_refused
        total.planted_supported += judged.planted_supported
        total.wrong += judged.wrong
    return sums


def _judge_file(path: Path) -> Judged:
    judged = Judged()
    for labelled in _lines(path):
        problem, refused = received(labelled["row"], path.stem)
        if labelled["planted"]:
            judged.planted += 1
            judged.planted_refused += bool(refused)
            judged.planted_supported += problem is not None and has_supported_answer(problem)
        else:
            judged.good += 1
            judged.good_refused += bool(refused)
        if bool(labelled["planted"]) != bool(refused):
            judged.wrong.append(f"{labelled['id']}: {labelled['planted'] or refused}")
    return judged


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8").splitlines():
        yield json.loads(line)


def received(row: dict[str, Any], kind: str) -> tuple[Problem | None, str]:
    """Returns the problem, or why it is refused."""
    columns = {name: name for name in _COLUMNS if name in row}
    match kind:
        case "gsm8k":
            source = _format("annotated", {"question": "question", "solution": "answer"})
        case "program":
            source = _format("program", columns)
        case _:
            source = _format("prose", columns)
    try:
        imported, _ = import_row(row, source)
        return problem_from_row(imported, kind), ""
    except (BadField, ValidationError) as error:
        return None, " ".join(str(error).split())


def _format(solution: Literal["prose", "annotated", "program"], columns: dict[str, str]) -> SourceFormat:
    return SourceFormat(reader="jsonl", solution=solution, needs=("question", "solution"), columns=columns)
