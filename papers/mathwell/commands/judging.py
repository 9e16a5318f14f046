"""`soliloquy problems score` and `calibrate`: judges of word problems."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, NEW_FILE, SEEDS, writing_to
from soliloquy.cli.tables import measured_table, table
from soliloquy.cli.terminal import echo, open_console
from soliloquy.problems.files.reading.rows import RefusedRow
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import atomic_file
from soliloquy.v1.conversation_pb2 import Opinion
from soliloquy_papers.mathwell.commands.examination import EXAMINATION, Examination
from soliloquy_papers.mathwell.commands.measuring import (
    MEASURES,
    MEASURING,
    MeasuringModels,
    beside_published,
    repetition,
    tell,
    told_repetition,
    word_problems,
)
from soliloquy_papers.mathwell.criteria.operations import operations_by_people
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Evidence, Labelled, Scores, WordProblem, opinions_by
from soliloquy_papers.mathwell.figures.problem_measures import ProblemMeasures
from soliloquy_papers.mathwell.readability import dale_chall, flesch_kincaid, tokens

if TYPE_CHECKING:
    from soliloquy_papers.mathwell.criteria.classifiers import Classifiers

_TOLD = {True: "yes", False: "no", None: "undecided"}


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=EXISTING_FILE)
def score(
    *,
    learned: Path | None = setting(
        "Judges of `problems calibrate`, which weigh what the rules find.", "--classifiers", type=EXISTING_FILE
    ),
    out: Path | None = setting("Write verdicts, reasons and measures to this JSONL file.", type=NEW_FILE),
    as_json: bool = AS_JSON,
    source: Path,
    measuring: MeasuringModels = MEASURING,
    examination: Examination = EXAMINATION,
) -> None:
    """Judge whether word problems are solvable, accurate and appropriate.

    FILE is JSONL, CSV or Parquet with question, solution, answer and topic; rows without a question are reported and
    left out. A criterion is met if at least one judge says yes and none says no. The code of a problem is followed step
    by step and does not run. Also measures the problems in the terms of MATHWELL's tables.
    """
    from soliloquy_papers.mathwell.criteria.classifiers import load
    from soliloquy_papers.mathwell.criteria.scoring import score as scored

    counts: Counter[tuple[Criterion, bool | None]] = Counter()
    found: Iterable[Evidence | None] = repeat(None)
    kept = refused = 0
    written: list[tuple[str, str]] = []
    measured = ProblemMeasures()

    def refuse(row: RefusedRow) -> None:
        nonlocal refused
        refused += 1
        tell(row)

    with writing_to(out or "standard output"):
        classifiers = load(learned) if learned else None
        with atomic_file(out) if out else nullcontext() as file:
            rows: Iterable[Labelled] = word_problems(source, refuse)
            if examination.wanted:
                rows = list(rows)
                found = examination.of([row.problem for row in rows], quiet=as_json)
            for (problem, *_), evidence in zip(rows, found, strict=False):
                scores = scored(problem, list(_others(problem, classifiers, evidence)))
                kept += scores.meets_all
                written.append((problem.question, problem.code))
                measured.add(problem.question, problem.code)
                counts.update((criterion, scores.meets(criterion)) for criterion in Criterion)
                if file:
                    file.write(_line(problem, scores, evidence))
    measures = {**measured.as_json(), **measuring.measures(measured.sample), **repetition(written)}
    if as_json:
        by_criterion = {one.value: {told: counts[one, meets] for meets, told in _TOLD.items()} for one in Criterion}
        told = {"problems": len(written), "refused": refused, "meet_all": kept, **by_criterion, "measures": measures}
        echo(json.dumps(told))
        return
    console = open_console()
    made = table("criterion", *_TOLD.values())
    for one in Criterion:
        made.add_row(one.value, *(str(counts[one, meets]) for meets in _TOLD))
    console.print(made)
    left_out = f"; rows refused: {refused}" if refused else ""
    echo(f"{kept} of {len(written)} problems meet all criteria{left_out}")
    echo(told_repetition(source.name, measures))
    console.print(beside_published({"here": measures}, MEASURES))


def _others(problem: WordProblem, classifiers: "Classifiers | None", evidence: Evidence | None) -> Iterator[Opinion]:
    """Yields the opinions of judges besides the rules; classifiers that learned from evidence weigh it."""
    if classifiers:
        yield from classifiers.opinions(problem, evidence)
    if evidence and not (classifiers and classifiers.weighs_evidence):
        yield from opinions_by(evidence, problem.answer)


def _line(problem: WordProblem, scores: Scores, evidence: Evidence | None) -> bytes:
    row = {
        "question": problem.question,
        **{one.value: scores.meets(one) for one in Criterion},
        "meets_all": scores.meets_all,
        "objections": scores.objections,
        "reading_grade": flesch_kincaid(problem.question),
        "dale_chall": dale_chall(problem.question),
        "tokens": tokens(problem.question),
        "operations": operations_by_people(problem.code, problem.question),
        **({"evidence": evidence.as_json()} if evidence else {}),
    }
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


# The share of the problems that people call good to keep.
_KEPT_SHARE = 0.85


@click.command(cls=Command)
def calibrate(
    *,
    source: Path = setting(
        "JSONL, CSV or Parquet: word problems, with true or false for solvable, accurate and appropriate.",
        "--labels",
        type=EXISTING_FILE,
    ),
    out: Path = setting("The file for the classifiers, .npz.", type=NEW_FILE),
    seed: int = setting("Seed of the split into fifths.", default=0, type=SEEDS),
    as_json: bool = AS_JSON,
    examination: Examination = EXAMINATION,
) -> None:
    """Calibrate the judges of word problems on what people say of them.

    Learns how much each rule and each word tells, and sets thresholds that keep 85 % of the good problems.
    Each fifth of the rows is judged by what the other four teach; the table compares that with the rules alone, by
    criterion and by the writer in the column `writer` or `model`. With --examine, programs, probes and opinions of a
    model are sources too: `all` weighs them with what text and program show. Use the file with --classifiers.
    """
    from soliloquy_papers.mathwell.criteria.classifiers import save
    from soliloquy_papers.mathwell.criteria.learning import calibrate as calibrated

    try:
        rows = list(word_problems(source))
        evidence = examination.of([row.problem for row in rows], quiet=as_json)
        classifiers, measured = calibrated(rows, _KEPT_SHARE, seed, evidence)
    except Failure as unusable:
        raise Failure(f"{source}: {unusable}; nothing was written") from unusable
    with writing_to(out):
        save(classifiers, out)
    if as_json:
        echo(json.dumps([one.as_json() for one in measured]))
        return
    open_console().print(measured_table("criterion", measured))
    echo(f"classifiers in {out}")
