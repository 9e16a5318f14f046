"""The tables: CLASS's raw answers as strict JSON and as our reader of answers takes them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from soliloquy.recipes.scaffold.plan_rules import POLICY
from soliloquy.runtime.answers import Answer, Unreadable, is_refusal
from soliloquy.runtime.files import table_beside
from soliloquy_papers.replication.published import Published, replication
from soliloquy_papers.replication.tables import Cell, Found, Table, beside_paper, mean, portion


class _Plan(Answer):
    problem: str = Field(alias="Problem")
    steps: list[dict[str, Any]] = Field(alias="SubProblems")


@replication
def replicate(published: Published) -> Iterator[Table]:
    answers = [str(row["problems"] or "") for _, row in published.rows("bio_problems.csv", ("problems",))]
    found = {"own": dict.fromkeys(("plans", "sessions", "samples"), Found())}
    if answers:
        found["plans"] = _plans(answers)
    return beside_paper(table_beside(__file__, "paper.toml"), found)


def _plans(answers: Sequence[str]) -> dict[str, Found]:
    strict, ours = [_strict(text) for text in answers], [_read(text) for text in answers]
    return {
        "answers": Found(len(answers), len(answers)),
        "read": Found(portion(one is not None for one in strict), portion(one is not None for one in ours)),
        "refused": Found(ours=portion(map(is_refusal, answers))),
        "steps": Found(mean(strict), mean(ours)),
        "fitting": Found(_fitting(strict), _fitting(ours)),
    }


def _strict(text: str) -> int | None:
    """Returns the number of sub-problems; None for an answer that cannot be read."""
    try:
        return len(_Plan.model_validate(json.loads(text)).steps)
    except ValueError:
        return None


def _read(text: str) -> int | None:
    try:
        return len(_Plan.read(text)[0].steps)
    except Unreadable:
        return None


def _fitting(counts: Sequence[int | None]) -> Cell:
    limits = POLICY["plans"]
    return portion(limits["fewest_questions"] <= one <= limits["most_questions"] for one in counts if one is not None)
