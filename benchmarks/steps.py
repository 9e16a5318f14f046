"""`python -m benchmarks steps`."""

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.problems.files.prose_solution import steps_from_prose
from soliloquy.v1.conversation_pb2 import Step

LABELS = Path(__file__).parent / "labels" / "steps.jsonl"
_OUTCOMES = ("steps", "right", "wrong", "read in error", "not read")
_SOLUTION = "Detailed Solution"
_ROUNDING = 1e-6


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@LISTED
@AS_JSON
def steps(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Read the results of 120 labelled steps of people's solutions, and count what is read otherwise.

    FOLDER holds published solutions of Code Soliloquies. A step that states several results may be read as any of them.
    `read in error` comes to no number.
    """
    kinds: dict[str, Readings] = defaultdict(Readings)
    for row in cases(LABELS):
        path = next(folder.rglob(row["file"]), None)
        if path is None:
            raise click.UsageError(f"{folder} has no {row['file']}: use a folder with the solutions that were labelled")
        found = steps_from_prose(json.loads(path.read_text("utf-8"))[_SOLUTION])
        step = found[row["step"] - 1] if row["step"] <= len(found) else Step()
        outcome = _outcome(step, row["results"], may_be_none=row.get("optional", False) or not row["results"])
        kind = "with a result" if row["results"] and not row.get("optional") else "without one"
        value = step.result.value if step.HasField("result") else None
        told = f"{row['file']} step {row['step']}: {outcome}: {value} for {row['results']}"
        kinds[kind].add(["steps", outcome], "" if outcome == "right" else told)
    report({**kinds, "all": total(kinds.values())}, _OUTCOMES, listed=listed, as_json=as_json)


def _outcome(step: Step, results: Sequence[float], *, may_be_none: bool) -> str:
    if not step.HasField("result"):
        return "right" if may_be_none else "not read"
    if not results:
        return "read in error"
    is_right = any(math.isclose(step.result.value, one, rel_tol=_ROUNDING) for one in results)
    return "right" if is_right else "wrong"
