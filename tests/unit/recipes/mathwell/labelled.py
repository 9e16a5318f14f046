"""The word problems that were labelled by hand, and trees that learned nothing."""

import tomllib
from functools import cache
from pathlib import Path

import numpy as np

from soliloquy.recipes.mathwell.criteria.forest import Forest
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, Labelled, WordProblem

# One leaf, which finds both labels equally likely.
NO_TREES = Forest(
    asked=np.zeros(1, dtype=np.int32),
    below=np.zeros((1, 2), dtype=np.int32),
    share=np.full(1, 0.5),
    roots=np.zeros(1, dtype=np.int32),
)


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
