"""The word problems that were labelled by hand."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, WordProblem


class Labelled(NamedTuple):
    problem: WordProblem
    # A problem that cannot be solved has no label for the other criteria.
    labels: dict[Criterion, bool]


@cache
def labelled(folder: str) -> list[Labelled]:
    paths = sorted(Path(__file__).with_name(folder).glob("*.toml"))
    rows = [row for path in paths for row in tomllib.loads(path.read_text("utf-8"))["problems"]]
    return [
        Labelled(
            WordProblem(question=row["question"], code=row["code"], answer=row["answer"], topic=row["topic"]),
            {Criterion(name): label for name, label in row["labels"].items()},
        )
        for row in rows
    ]
