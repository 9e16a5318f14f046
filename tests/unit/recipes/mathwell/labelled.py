"""The word problems that were labelled by hand."""

import tomllib
from functools import cache
from pathlib import Path

from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, Labelled, WordProblem


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
