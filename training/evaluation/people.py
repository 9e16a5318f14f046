"""Shows the cases of an evaluation to people, one by one or of two systems side by side, and sums up what they say."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from soliloquy.annotation.agreement import cohens_kappa, estimate
from soliloquy.annotation.labels import consensus
from soliloquy.annotation.measured import Measured
from soliloquy.annotation.pairs import Task, pair_task
from soliloquy.annotation.report import agreement
from soliloquy.annotation.rows import Annotation, require_scheme
from soliloquy.annotation.scheme import SIDES, Scheme
from soliloquy.dataset.tables import estimate as format_estimate
from soliloquy.dataset.tables import plain, table
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file
from soliloquy.runtime.seeds import draw
from soliloquy_training.evaluation.cases import Share, share_of
from soliloquy_training.evaluation.comparison import SavedEvaluation, evaluation_in, read
from soliloquy_training.evaluation.report import PAGE, REPORT, format_share

Row = Mapping[str, Any]
Messages = list[dict[str, str]]
_HEADING = "\n## What people say\n"
_AGREED = {"yes": True, "no": False}


def case_tasks(folder: Path, scheme: Scheme, *, count: int, seed: int) -> list[Task]:
    """Returns the cases as tasks for annotators; raises Failure for a scheme of something else."""
    [evaluation] = read([folder]).values()
    made = []
    with evaluation_in(folder):
        for row in evaluation.rows:
            before, said = _exchange(row)
            if said:
                _require_unit(scheme, "turn" if before else "conversation", evaluation)
                shown = {**_problem(row), "messages": [*before, *said], **_program(row)}
                made.append({"item": row["case"], "unit": scheme.unit, "shown": shown})
    if not made:
        raise Failure(f"{folder} has no replies to show to people")
    draw(seed, "annotation", "cases").shuffle(made)
    return made[:count]


def case_pairs(one: Path, other: Path, scheme: Scheme, *, count: int, seed: int) -> list[Task]:
    """Returns cases that two systems answered differently, in random order; raises Failure."""
    evaluations = read([one, other])
    # An evaluation beside itself is one.
    first, second = (list(evaluations.values())[place] for place in (0, -1))
    theirs, made = {row["case"]: row for row in second.rows}, []
    with evaluation_in(other):
        for row in first.rows:
            (before, mine), (_, rival) = _exchange(row), _exchange(theirs[row["case"]])
            _require_unit(scheme, "reply_pair" if before else "pair", first)
            if mine and rival and mine != rival:
                shown = _problem(row) | ({"messages": before} if before else {})
                case = (row["case"], row["case"])
                made.append(pair_task(scheme.unit, case, shown, (mine, rival), ((), ()), seed, [*evaluations]))
    if not made:
        raise Failure(f"{one} and {other} answer no case differently")
    draw(seed, "annotation", "cases").shuffle(made)
    return made[:count]


def _require_unit(scheme: Scheme, unit: str, evaluation: SavedEvaluation) -> None:
    if scheme.unit != unit:
        kind = evaluation.report["protocol"]
        raise Failure(f"a case of {kind} is a {unit}, and {scheme.name} is of a {scheme.unit}: choose another scheme")


def _exchange(row: Row) -> tuple[Messages, Messages]:
    """Returns what was said before the tutor's reply and the reply; of a whole dialogue, all of it."""
    if "student" in row:
        before = [*row.get("history", ()), {"speaker": "student", "text": row["student"]}]
        said = [{"speaker": "tutor", "text": row.get("reply")}]
    else:
        rounds = row.get("rounds", ())
        before = []
        said = row.get("messages") or [
            {"speaker": of, "text": one[of]} for one in rounds for of in ("student", "tutor")
        ]
    return _shown(before), _shown(said)


def _shown(messages: Sequence[Row]) -> Messages:
    return [{"role": one["speaker"], "text": one["text"]} for one in messages if one["text"]]


def _problem(row: Row) -> dict[str, str]:
    return {"question": row.get("question", ""), "solution": row.get("solution", "")}


def _program(row: Row) -> dict[str, Any]:
    if not row.get("attempts"):
        return {}
    last = row["attempts"][-1]
    values = "\n".join(f"{name} = {value}" for name, value in last["values"].items())
    return {"program": {"code": last["code"], "ran": last["status"] == "ok", "output": last["error"] or values}}


def judged_by_people(folder: Path, annotations: Sequence[Annotation], scheme: Scheme) -> dict[str, Any]:
    """Returns the share of cases for which people say yes, and how far the automatic judgement agrees with them.

    Raises Failure if they answered no question that the evaluation measures.
    """
    [evaluation] = read([folder]).values()
    require_scheme(annotations, scheme)
    judged = [one for one in annotations if one.item in evaluation.passed]
    found, labels = agreement(judged, scheme), consensus(judged, scheme)
    questions = {}
    for metric in evaluation.report["titles"]:
        said = {
            item: _AGREED[one.value]
            for item, of in labels.items()
            for one in of
            if one.question == metric and one.value in _AGREED
        }
        if said:
            alpha = found["questions"][metric]["krippendorff_alpha"]
            questions[metric] = {"people": share_of(said.values()), "alpha": alpha, **_beside(evaluation, metric, said)}
    if not questions:
        raise Failure(
            f"{scheme.name} has no answers yes or no for {', '.join(evaluation.report['titles'])} in {folder}"
        )
    return {
        "scheme": scheme.name,
        "annotators": len(found["annotators"]),
        "cases": len(labels),
        "questions": questions,
    }


def _beside(evaluation: SavedEvaluation, metric: str, said: Mapping[str, bool]) -> dict[str, Any]:
    """Returns the automatic judgement of the cases that people judged, as far as it judges them too."""
    both = [item for item in said if metric in evaluation.passed[item]]
    passed = [evaluation.passed[item][metric] for item in both]
    met, judged = (np.array(flags, dtype=bool) for flags in ([said[item] for item in both], passed))
    measured = Measured(subject=metric, judge="automatic", met=met, said=judged)
    return {"automatic": share_of(passed), "agreement": measured.as_json()}


def add_people(folder: Path, people: Mapping[str, Any]) -> None:
    """Puts what people say into the report and its page, in place of what an earlier call put there."""
    [evaluation] = read([folder]).values()
    page = (folder / PAGE).read_text("utf-8").partition(_HEADING)[0]
    told = f"{people['annotators']} annotators judged {people['cases']} cases by the scheme {people['scheme']}."
    heads, rows = people_rows(evaluation.report, people)
    (folder / PAGE).write_text(f"{page}{_HEADING}\n{plain(told)}\n\n{table(heads, rows)}\n", "utf-8")
    with atomic_file(folder / REPORT) as file:
        file.write(json.dumps({**evaluation.report, "people": people}, indent=2).encode() + b"\n")


def people_rows(report: Row, people: Mapping[str, Any]) -> tuple[Sequence[str], list[list[str]]]:
    heads = ("metric", "people", "automatic, of the same cases", "kappa of both", "alpha of people")
    return heads, [
        [
            report["titles"][metric],
            *(format_share(found[judge]) for judge in ("people", "automatic")),
            *(format_estimate(one) for one in (found["agreement"]["kappa"], found["alpha"])),
        ]
        for metric, found in people["questions"].items()
    ]


def preferred(
    evaluations: Mapping[str, SavedEvaluation], annotations: Sequence[Annotation], tasks: Sequence[Task], scheme: Scheme
) -> dict[str, Any]:
    """Returns how often people prefer each of two systems, and how far the metrics agree with them.

    The metrics prefer the system that passes more of them in a case. Raises Failure for tasks of other evaluations.
    """
    require_scheme(annotations, scheme)
    names, question, labels = [*evaluations], scheme.side_question(), consensus(annotations, scheme)
    order = {task["item"]: task.get("order", ()) for task in tasks}
    if len(names) != 2 or any({*names} != {*of} for of in order.values()):
        raise Failure(f"the tasks compare {' and '.join(sorted({*next(iter(order.values()), ())}))}: give these two")
    by_people, by_metrics = list[int](), list[int]()
    for item, label in ((item, one) for item, of in labels.items() for one in of if one.question == question):
        if item in order:
            side = order[item][SIDES.index(label.value)] if label.value in SIDES else ""
            by_people.append(_sign(side == names[0], side == names[1]))
            by_metrics.append(_sign(*(sum(one.passed[item].values()) for one in evaluations.values())))
    if not by_people:
        raise Failure("nobody prefers either system in these tasks")
    kappa = estimate(np.array([by_people, by_metrics], dtype=float).T, cohens_kappa)
    shares = {name: _share_of_preferences(by_people, sign) for name, sign in zip(names, (1, -1), strict=True)}
    return {"shares": shares, "same": by_people.count(0), "kappa": asdict(kappa), "scheme": scheme.name}


def _sign(one: int, other: int) -> int:
    return (one > other) - (one < other)


def _share_of_preferences(signs: Sequence[int], sign: int) -> Share:
    return share_of(one == sign for one in signs if one)


def preference_lines(found: Mapping[str, Any]) -> Iterator[str]:
    for name, share in found["shares"].items():
        yield f"people prefer {name}: {format_share(share)}"
    same = "one case" if found["same"] == 1 else f"{found['same']} cases"
    kappa = format_estimate(found["kappa"])
    yield f"equally good: {same}; kappa of people and metrics: {kappa}"
