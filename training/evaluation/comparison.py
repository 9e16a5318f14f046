"""Compares evaluations of the same cases."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.dataset.tables import plain, table
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import parsed_json, read_json, read_regular
from soliloquy_training.evaluation.report import CASES, REPORT, format_figure, format_share, is_measured

# An evaluation of thousands of cases has a few megabytes.
_MOST_BYTES = 256 * 1024**2


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedEvaluation:
    folder: Path
    report: Mapping[str, Any]
    # The digest of the cases.
    cases: str
    # The evidence of each case.
    rows: Sequence[Mapping[str, Any]]
    # The metrics that each case passed, by case id.
    passed: Mapping[str, Mapping[str, bool]]


def read(folders: Sequence[Path]) -> dict[str, SavedEvaluation]:
    """Reads evaluations by name; several of the same name are told apart by their folders."""
    found = [_read(folder) for folder in folders]
    first = found[0]
    for other in found[1:]:
        if other.cases == first.cases:
            continue
        protocols = [one.report["protocol"] for one in (other, first)]
        if protocols[0] != protocols[1]:
            raise Failure(
                f"{other.folder} is an evaluation by {protocols[0]} and {first.folder} one by {protocols[1]}: "
                "compare evaluations of one protocol"
            )
        raise Failure(
            f"{other.folder} and {first.folder} have different cases: evaluate both with the same --questions or "
            "--dialogues, --seed, --problems and --trained"
        )
    for other in found[1:]:
        with evaluation_in(other.folder):
            _require_shown(other.report, first.report)
            if other.passed.keys() != first.passed.keys():
                raise ValueError(f"{CASES} has other cases than that of {first.folder}")
    names = [evaluation.report["name"] for evaluation in found]
    return {
        name if names.count(name) == 1 else f"{name} ({evaluation.folder})": evaluation
        for name, evaluation in zip(names, found, strict=True)
    }


def rows(evaluations: Mapping[str, SavedEvaluation]) -> list[list[str]]:
    """Builds one row per metric; of two evaluations it also counts the cases that only one of them passed."""
    made = []
    for metric, title in next(iter(evaluations.values())).report["titles"].items():
        if not any(is_measured(one.report, metric) for one in evaluations.values()):
            continue
        shares = [format_figure(one.report, metric) for one in evaluations.values()]
        made.append([title, *shares, *_alone(list(evaluations.values()), metric)])
    shares = [format_share(one.report["figures"]["read_at_first"]) for one in evaluations.values()]
    made.append(["answers read at the first try", *shares, *([""] if len(evaluations) == 2 else [])])
    return made


def head(evaluations: Mapping[str, SavedEvaluation]) -> list[str]:
    return ["metric", *evaluations, *(["only the one : only the other"] if len(evaluations) == 2 else [])]


def page(evaluations: Mapping[str, SavedEvaluation]) -> Iterator[str]:
    yield f"{plain(next(iter(evaluations.values())).report['cases']['put'])}: share, 95 % interval."
    yield ""
    yield table(head(evaluations), rows(evaluations))


def _alone(evaluations: Sequence[SavedEvaluation], metric: str) -> list[str]:
    if len(evaluations) != 2:
        return []
    if metric not in evaluations[0].report["figures"]["metrics"]:
        return [""]
    one, other = ({case: bool(p.get(metric)) for case, p in each.passed.items()} for each in evaluations)
    alone = [sum(mine[case] and not theirs[case] for case in mine) for mine, theirs in ((one, other), (other, one))]
    return [f"{alone[0]} : {alone[1]}"]


def _read(folder: Path) -> SavedEvaluation:
    with evaluation_in(folder):
        report = read_json(folder / REPORT, _MOST_BYTES)
        rows = [parsed_json(line) for line in read_regular(folder / CASES, _MOST_BYTES).splitlines()]
        passed = {row["case"]: dict(row["passed"]) for row in rows}
        _require_shown(report, report)
        return SavedEvaluation(folder=folder, report=report, cases=report["cases"]["sha256"], rows=rows, passed=passed)


@contextmanager
def evaluation_in(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise Failure(f"{folder} holds no evaluation: soliloquy evaluate --out writes one") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise Failure(f"{folder} holds no evaluation ({error}): soliloquy evaluate --out writes one") from error


def _require_shown(report: Mapping[str, Any], first: Mapping[str, Any]) -> None:
    """Raises an error for a report that lacks what tables and pictures show of the first one."""
    figures = report["figures"]
    for metric in dict(first["titles"]):
        format_figure(report, metric)
    for metric in (each for metrics in dict(first.get("curves", {})).values() for each in list(metrics)):
        format_share(figures["metrics"][metric])
    format_share(figures["read_at_first"])
    ends = [share[end] for share in figures["metrics"].values() for end in ("low", "high")]
    # Each must be a number that can be drawn.
    math.fsum([*ends, *dict(report["paper"]).values()])
    texts = (report["name"], report["protocol"], report["whose"], *report["titles"].values())
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("it has numbers for texts")
