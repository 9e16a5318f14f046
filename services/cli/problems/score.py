"""`soliloquy problems score`: word problems of others held against the criteria."""

import json
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import click
from rich.console import Console

from services.cli.bench.tables import table
from services.cli.failure import Failure
from services.cli.problems.labelled import word_problems
from services.curriculum.files.reading.rows import Unreadable
from services.curriculum.files.whole import whole_file
from services.recipes.mathwell.criteria.verdicts import Criterion, Scores, WordProblem

_TOLD = {True: "yes", False: "no", None: "undecided"}


@click.command()
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--classifiers",
    "learned",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Of `problems learn-criteria`: they have to agree with the rules.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="JSONL: each verdict with its reasons.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def score(*, source: Path, learned: Path | None, out: Path | None, as_json: bool) -> None:
    """Judge word problems: are they solvable, is their code right, are they fit for a school class?

    Rows of question, solution, answer and topic, as JSONL, CSV or Parquet. One judge's "no" is enough; what nobody can
    tell is not met. No code is run.
    """
    from services.recipes.mathwell.criteria.classifiers import BadClassifiers, load
    from services.recipes.mathwell.criteria.scoring import score as scored

    counts: Counter[tuple[Criterion, bool | None]] = Counter()
    read = kept = 0
    try:
        classifiers = load(learned) if learned else None
        with whole_file(out) if out else nullcontext() as file:
            for problem, _ in word_problems(source):
                scores = scored(problem, list(classifiers.opinions(problem)) if classifiers else ())
                read, kept = read + 1, kept + scores.meets_all
                counts.update((criterion, scores.meets(criterion)) for criterion in Criterion)
                if file:
                    file.write(_line(problem, scores))
    except (Unreadable, BadClassifiers) as unusable:
        raise Failure(str(unusable)) from unusable
    except OSError as error:
        raise Failure(f"{error.filename or out} cannot be written ({error.strerror}): choose another") from error
    if as_json:
        found = {one.value: {told: counts[one, meets] for meets, told in _TOLD.items()} for one in Criterion}
        click.echo(json.dumps({"problems": read, "meet_all": kept, **found}))
        return
    made = table("criterion", *_TOLD.values())
    for one in Criterion:
        made.add_row(one.value, *(str(counts[one, meets]) for meets in _TOLD))
    Console().print(made)
    click.echo(f"{kept} of {read} problems meet all criteria")


def _line(problem: WordProblem, scores: Scores) -> bytes:
    verdicts = {one.value: scores.meets(one) for one in Criterion}
    row = {"question": problem.question, **verdicts, "meets_all": scores.meets_all, "objections": scores.objections}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"
