"""`python -m benchmarks criteria`."""

import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, report
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Labelled, WordProblem

_LABELS = Path(__file__).parents[1] / "tests" / "unit" / "papers" / "mathwell"
# Calibrated judges keep this share of the good problems that they learn from.
_KEEP = 0.85
_OUTCOMES = ("yes", "kept", "no", "found")
# Whether a problem meets a criterion in a judge's eyes.
Meets = Callable[[WordProblem, Criterion], bool]


@click.command()
@LISTED
@AS_JSON
def criteria(*, listed: bool, as_json: bool) -> None:
    """Judge word problems that were labelled by hand, and count what the rules and calibrated judges keep and find.

    The rules were made with the problems of `made_with`, and calibrated judges learn from them; `held_out` was written
    afterwards. A doubt of a rule counts as a no. Balanced accuracy is the mean of `kept` of `yes` and `found` of `no`.
    """
    report(judge(), _OUTCOMES, listed=listed, as_json=as_json)


def judge() -> Mapping[str, Readings]:
    """Returns the counts by judge and criterion."""
    made_with, held_out = read("made_with"), read("held_out")
    return {
        **_judged(f"rules, {len(made_with)} made with", made_with, _unopposed),
        **_judged(f"rules, {len(held_out)} held out", held_out, _unopposed),
        **_judged(f"calibrated, {len(held_out)} held out", held_out, _calibrated(made_with)),
    }


def read(folder: str) -> list[Labelled]:
    rows = [
        row for path in sorted((_LABELS / folder).glob("*.toml")) for row in tomllib.loads(path.read_text())["problems"]
    ]
    return [
        Labelled(
            WordProblem(question=row["question"], code=row["code"], answer=row["answer"], topic=row["topic"]),
            {Criterion(name): label for name, label in row["labels"].items()},
        )
        for row in rows
    ]


def _unopposed(problem: WordProblem, criterion: Criterion) -> bool:
    return not any(one.criterion == criterion and one.judge != "rules" for one in score(problem).opinions)


def _calibrated(rows: Sequence[Labelled]) -> Meets:
    from soliloquy_papers.mathwell.criteria.learning import calibrate

    classifiers, _ = calibrate(rows, _KEEP, 0)

    def meets(problem: WordProblem, criterion: Criterion) -> bool:
        return score(problem, list(classifiers.opinions(problem))).meets(criterion) is True

    return meets


def _judged(judged_by: str, rows: Sequence[Labelled], meets: Meets) -> Mapping[str, Readings]:
    kinds: dict[str, Readings] = defaultdict(Readings)
    for problem, labels, _ in rows:
        for criterion, label in labels.items():
            is_met = meets(problem, criterion)
            outcomes = ["yes" if label else "no", *(["kept" if label else "found"] if is_met == label else [])]
            told = "" if is_met == label else f"{judged_by}: {criterion} is {label}: {problem.question}"
            kinds[f"{judged_by}: {criterion}"].add(outcomes, told)
    return kinds
