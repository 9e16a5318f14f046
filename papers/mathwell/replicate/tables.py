"""The tables: people's labels beside the recipe's rules, and the published programs run in the sandbox."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isclose
from typing import Any

from soliloquy.runtime.files import table_beside
from soliloquy.runtime.values import shown
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Job
from soliloquy_papers.mathwell.criteria.operations import OPERATIONS, operations_by_people
from soliloquy_papers.mathwell.criteria.scoring import JUDGES, score
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Scores, WordProblem
from soliloquy_papers.mathwell.figures import PUBLISHED
from soliloquy_papers.mathwell.readability import dale_chall, flesch_kincaid, tokens
from soliloquy_papers.mathwell.writer import ANSWER, CALL
from soliloquy_papers.replication.published import Published, replication
from soliloquy_papers.replication.tables import Cell, Found, Table, beside_paper, mean, portion
from soliloquy_training.evaluation.cases import Share

Row = Mapping[str, Any]
# The column that marks a writer's rows, and its name in the paper.
_WRITERS = {"llema": "LLEMMA", "mammoth": "MAmmoTH", "llama": "Llama-2", "mathwell": "MATHWELL"}
# The rows that the paper counts together, by their column `model`.
_LABELLED = ("finetuned_llama", *_WRITERS)
_CRITERIA = {
    "solvability": Criterion.SOLVABLE,
    "accuracy": Criterion.ACCURATE,
    "appropriateness": Criterion.APPROPRIATE,
}
_READ: Mapping[str, tuple[str, Callable[[str], float | None]]] = {
    "reading_grade": ("fkgl", flesch_kincaid),
    "dale_chall": ("ndc", dale_chall),
    "tokens": ("question_length", tokens),
}
_PROBLEM = ("question", "solution", "answer")
_EVALUATED = (
    *_PROBLEM,
    *_CRITERIA,
    "topic",
    "good",
    "total_ops",
    *OPERATIONS,
    *_WRITERS,
    *(one for one, _ in _READ.values()),
)
_NEAR = 1e-6
_BRACKETS = str.maketrans("()", "[]")
# The last school year that the paper writes for.
_HIGHEST_GRADE = 8


@replication
def replicate(published: Published) -> Iterator[Table]:
    found: dict[str, Any] = {}
    labelled = [row for _, row in published.rows("annotations.csv", (*_PROBLEM, *_CRITERIA, "model", "mac"))]
    if ours := [row for row in labelled if row["model"] in _LABELLED]:
        found |= {"labelled": _labelled(ours), "rules": {"objections": _objections(ours)}}
    evaluated = [row for _, row in published.rows("evaluation_annotations.csv", _EVALUATED)]
    if evaluated:
        for column, writer in _WRITERS.items():
            if written := [row for row in evaluated if _is(row, column)]:
                for table, figures in _of_writer(written, PUBLISHED[writer]).items():
                    for measure, figure in figures.items():
                        found.setdefault(table, {}).setdefault(measure, {})[writer] = figure
        found |= {"agreement": _agreement(evaluated), "found": _found(evaluated)}
    approved = [row for _, row in published.rows("egsm.csv", _PROBLEM)]
    if approved:
        means = {name: Found(ours=mean(read(row["question"]) for row in approved)) for name, (_, read) in _READ.items()}
        found["approved"] = {"rows": Found(len(approved), len(approved)), **means}
    if labelled or approved:
        answers = _answers(published, {row["solution"] for row in (*approved, *labelled)})
        found["programs"] = {
            name: Found(ours="not run" if answers is None else portion(_same(answers, row) for row in rows))
            for name, rows in (("approved", approved), ("labelled", labelled))
        }
        several = sum(row["answer"].startswith(("[", "(")) for row in approved)
        found["programs"]["several"] = Found(several, several)
    return beside_paper(table_beside(__file__, "paper.toml"), found)


def _labelled(rows: Sequence[Row]) -> dict[str, Found]:
    scores = [_score(row) for row in rows]
    solvable = [one for one in scores if one.meets(Criterion.SOLVABLE)]
    fit = (one.meets(Criterion.SOLVABLE) and one.meets(Criterion.APPROPRIATE) for one in scores)
    return {
        "rows": Found(len(rows), len(rows)),
        "solvable": Found(_share(rows, "solvability"), portion(one.meets(Criterion.SOLVABLE) for one in scores)),
        "accurate": Found(
            _share([row for row in rows if row["accuracy"]], "accuracy"),
            portion(one.meets(Criterion.ACCURATE) for one in solvable),
        ),
        "appropriate": Found(_share(rows, "appropriateness"), portion(fit)),
        "all": Found(_share(rows, "mac"), portion(one.meets_all for one in scores)),
    }


def _objections(rows: Sequence[Row]) -> dict[str, Found]:
    """Returns, for each rule, how many of the labelled rows that it objects to or doubts people object to as well."""
    outcomes: dict[str, list[bool]] = {}
    for row in rows:
        for column, criterion in _CRITERIA.items():
            opinions = [one for one in _score(row).opinions if one.criterion == criterion]
            for judge in {one.judge for one in opinions if one.judge in JUDGES} if row[column] else ():
                outcomes.setdefault(judge, []).append(not _is(row, column))
    return {judge.removeprefix("rule "): Found(ours=portion(outcomes[judge])) for judge in sorted(outcomes)}


def _of_writer(rows: Sequence[Row], paper: Mapping[str, float]) -> dict[str, dict[str, Found]]:
    scores = [_score(row) for row in rows]
    solvable = [row for row in rows if _is(row, "solvability")]
    ours = [one for one in scores if one.meets(Criterion.SOLVABLE)]
    operations = [operations_by_people(row["solution"], row["question"]) for row in solvable]
    good = [(row, found) for row, found in zip(solvable, operations, strict=True) if _is(row, "good")]
    found: dict[str, dict[str, tuple[Cell, Cell]]] = {
        "criteria": {
            "solvable": (_share(rows, "solvability"), portion(one.meets(Criterion.SOLVABLE) for one in scores)),
            "accurate": (_share(solvable, "accuracy"), portion(one.meets(Criterion.ACCURATE) for one in ours)),
            "appropriate": (
                _share(solvable, "appropriateness"),
                portion(one.meets(Criterion.APPROPRIATE) for one in ours),
            ),
            "all": (_share(rows, "good"), portion(one.meets_all for one in scores)),
            "named": (_share(rows, "topic"), None),
        },
        "operations": {
            **{name: (_share(solvable, name), portion(name in one for one in operations)) for name in OPERATIONS},
            "distinct_operations": (
                mean(_number(row, "total_ops") for row, _ in good),
                mean(len(one) for _, one in good),
            ),
        },
        "readability": {
            "beyond": (
                portion((_number(row, "fkgl") or 0) > _HIGHEST_GRADE for row in rows),
                portion(flesch_kincaid(row["question"]) > _HIGHEST_GRADE for row in rows),
            ),
            **{
                name: (mean(_number(row, column) for row in rows), mean(read(row["question"]) for row in rows))
                for name, (column, read) in _READ.items()
            },
        },
    }
    return {
        table: {name: Found(*figures, paper=paper.get(name)) for name, figures in measures.items()}
        for table, measures in found.items()
    }


def _agreement(rows: Sequence[Row]) -> dict[str, Found]:
    return {
        criterion: Found(
            ours=portion(_is(row, column) == bool(_score(row).meets(criterion)) for row in rows if row[column])
        )
        for column, criterion in _CRITERIA.items()
    }


def _found(rows: Sequence[Row]) -> dict[str, dict[str, Found]]:
    both = [(row, operations_by_people(row["solution"], row["question"])) for row in rows if row["addition"]]
    return {
        "addition": {
            name: Found(ours=portion(name in ours for row, ours in both if _is(row, name))) for name in OPERATIONS
        },
        "alarms": {
            name: Found(ours=portion(not _is(row, name) for row, ours in both if name in ours)) for name in OPERATIONS
        },
    }


def _answers(published: Published, programs: Iterable[str]) -> Mapping[str, str] | None:
    """Runs the programs and returns what each comes to, empty for one that fails; None without a sandbox."""
    jobs = {code: Job(code=code + CALL, result_variables=[ANSWER]) for code in programs}
    if (done := published.run(list(jobs.values()))) is None:
        return None
    values = (shown(one.values[0].value) if one.status == STATUS_OK else "" for one in done)
    return dict(zip(jobs, values, strict=True))


def _same(answers: Mapping[str, str], row: Row) -> bool:
    value, stated = answers[row["solution"]], row["answer"]
    try:
        return isclose(float(value), float(stated), rel_tol=_NEAR)
    except ValueError:
        return bool(value) and _plain(value) == _plain(stated)


def _plain(answer: str) -> str:
    """Our sandbox shows a tuple as a list."""
    return answer.translate(_BRACKETS).strip("'\"")


def _score(row: Row) -> Scores:
    return score(WordProblem(question=row["question"], code=row["solution"], answer=_number(row, "answer")))


def _is(row: Row, column: str) -> bool:
    return _number(row, column) == 1


def _number(row: Row, column: str) -> float | None:
    try:
        return float(row[column])
    except ValueError:
        return None


def _share(rows: Iterable[Row], column: str) -> Share:
    return portion(_is(row, column) for row in rows)
