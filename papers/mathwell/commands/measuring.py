"""Measures word problems, and `soliloquy problems compare`."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click
from rich.table import Column, Table

from soliloquy.cli.command import Command, gathered, setting
from soliloquy.cli.options import AS_JSON, EXISTING_FILE, EXISTING_FOLDER
from soliloquy.cli.terminal import echo, open_console
from soliloquy.dataset.reading import Dataset
from soliloquy.problems.files.reading.rows import RefusedRow, SourceRow
from soliloquy.problems.files.source_format import ANY_ROWS
from soliloquy.problems.sifting.near_duplicates import repeats, told_again
from soliloquy.programs.tracing import structure_of
from soliloquy.runtime.failure import Failure
from soliloquy_papers.mathwell.criteria.verdicts import Criterion, Labelled, WordProblem
from soliloquy_papers.mathwell.figures import PUBLISHED
from soliloquy_papers.mathwell.figures.authored import count_authored
from soliloquy_papers.mathwell.figures.problem_measures import ProblemMeasures, SampledProblem, cells

if TYPE_CHECKING:
    from soliloquy_training.evaluation.text_models import BertScore, Perplexity

# A problem's writer.
_WRITERS = ("writer", "model")
# The published files name criteria by nouns.
_COLUMNS = {
    Criterion.SOLVABLE: ("solvable", "solvability"),
    Criterion.ACCURATE: ("accurate", "accuracy"),
    Criterion.APPROPRIATE: ("appropriate", "appropriateness"),
}
_LABELS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "y"), True),
    **dict.fromkeys(("false", "0", "0.0", "no", "n"), False),
}


def tell(row: RefusedRow) -> None:
    echo(row, err=True)


def word_problems(path: Path, report: Callable[[RefusedRow], None] = tell) -> Iterator[Labelled]:
    """Yields the problems of any file that this project or the paper's authors write; reports the other rows.

    Raises UnreadableSource, or Failure if there is no problem.
    """
    refused, found = 0, False
    for row in ANY_ROWS.rows(path):
        problem = row if isinstance(row, RefusedRow) else _problem(row)
        if isinstance(problem, RefusedRow):
            refused += 1
            report(problem)
        else:
            found = True
            yield problem
    if not found:
        raise Failure(f"{path}: none of {refused} rows is a word problem")


def _problem(row: SourceRow) -> Labelled | RefusedRow:
    question, solution = (_text(row.cells, name) for name in ("question", "solution"))
    if not question:
        return RefusedRow(place=row.place, field="question", reason="is missing")
    labels: dict[Criterion, bool] = {}
    for criterion, columns in _COLUMNS.items():
        for column in columns:
            if not (text := _text(row.cells, column).lower()):
                continue
            if text not in _LABELS:
                why = f"{text!r} is not a label: use true or false, or leave it empty"
                return RefusedRow(place=row.place, field=column, reason=why)
            labels[criterion] = _LABELS[text]
    # A problem for tutoring may be solved in words.
    code = solution if "def " in solution else ""
    answer = _number(row.cells.get("answer"))
    problem = WordProblem(question=question, code=code, answer=answer, topic=_text(row.cells, "topic"))
    writer = next((text for column in _WRITERS if (text := _text(row.cells, column))), "")
    return Labelled(problem, labels, writer)


def _number(cell: Any) -> float | None:
    """Returns None for tuples, lists and words, which the published answers may be."""
    # In a problem file an answer is a value with its unit.
    value = cell.get("value") if isinstance(cell, dict) else cell
    try:
        number = float("" if value is None else str(value).replace(",", ""))
    except ValueError:
        return None
    return None if number != number else number


def _text(cells: Mapping[str, Any], name: str) -> str:
    value = cells.get(name)
    return "" if value is None else str(value).strip()


# Short heads, so that the table fits a terminal.
VERDICTS = {
    "written": "written",
    "ran": "ran",
    "solvable": "solv.",
    "accurate": "acc.",
    "appropriate": "app.",
    "all": "all",
    "named": "topic",
    "ran and all": "ran+all",
}
MEASURES = {
    "reading_grade": "grade",
    "dale_chall": "NDC",
    "tokens": "tokens",
    "distinct_operations": "ops",
    "near_duplicates": "near",
    "self_similarity": "alike",
    "perplexity": "PPL",
    "bertscore": "BF1",
    "bertscore_references": "ref.",
}


@dataclass(frozen=True, kw_only=True)
class MeasuringModels:
    perplexity: "Perplexity | None"
    bertscore: "BertScore | None"
    # Questions to compare with.
    references: Sequence[str]

    def measures(self, sample: Sequence[SampledProblem]) -> Mapping[str, float | None]:
        """Returns means over a sample, or None for what cannot be measured."""
        questions = [one.question for one in sample]
        written = [f"{one.question}\n\n{one.code}" for one in sample]
        return {
            "perplexity": _mean(self.perplexity.scores(written) if self.perplexity else ()),
            # The sample is in random order, so neighbours stand for all pairs.
            "bertscore": self._alike(list(pairwise(questions))),
            "bertscore_references": self._alike(list(zip(questions, self.references, strict=False))),
        }

    def _alike(self, pairs: Sequence[tuple[str, str]]) -> float | None:
        if not self.bertscore or not pairs:
            return None
        one, other = zip(*pairs, strict=True)
        return _mean(self.bertscore.scores(one, other))


def _models(
    perplexity: Path | None = setting("A language model that measures their perplexity.", type=EXISTING_FOLDER),
    bertscore: Path | None = setting("An encoder that measures how alike the problems are.", type=EXISTING_FOLDER),
    references: Path | None = setting("Word problems to compare with by BERTScore.", type=EXISTING_FILE),
) -> MeasuringModels:
    """Loads the models of the options; raises Failure."""
    from soliloquy_training.evaluation.text_models import BertScore, Perplexity

    if references and not bertscore:
        raise click.UsageError("--references requires --bertscore")
    others = ProblemMeasures()
    for problem, *_ in word_problems(references) if references else ():
        others.add(problem.question, problem.code)
    return MeasuringModels(
        perplexity=Perplexity(perplexity) if perplexity else None,
        bertscore=BertScore(bertscore) if bertscore else None,
        references=[one.question for one in others.sample],
    )


MEASURING = gathered(_models)


def repetition(problems: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Counts questions that repeat an earlier one, those that tell one with other numbers, and different programs."""
    told = [(question, structure_of(code)) for question, code in problems]
    same = list(repeats(question for question, _ in told))
    return {
        "near_duplicates": sum(same),
        "told_again": sum(again and not one for again, one in zip(told_again(told), same, strict=True)),
        "programs": len({structure for _, structure in told if structure}),
    }


def told_repetition(name: str, counts: Mapping[str, Any]) -> str:
    return (
        f"{name}: {counts['near_duplicates']} near-duplicates, {counts['told_again']} more with other numbers, "
        f"{counts['programs']} different programs"
    )


def beside_published(found: Mapping[str, Mapping[str, Any]], heads: Mapping[str, str]) -> Table:
    figures = (Column(head, justify="right", no_wrap=True) for head in heads.values())
    table = Table(Column("", overflow="fold"), *figures, box=None, header_style="bold", pad_edge=False)
    for name, told in found.items():
        table.add_row(name, *cells(told, heads))
    table.add_section()
    for model, row in PUBLISHED.items():
        table.add_row(f"{model} (paper)", *cells(row, heads), style="dim")
    return table


def _mean(scores: Sequence[float]) -> float | None:
    return round(fmean(scores), 2) if scores else None


@click.command(cls=Command)
@click.argument("folders", metavar="DIR|URL..", nargs=-1, required=True)
def compare(*, as_json: bool = AS_JSON, folders: tuple[str, ...], measuring: MeasuringModels = MEASURING) -> None:
    """Compare datasets of word problems with each other and with the models of the MATHWELL paper.

    The first table shows, in per cent, how many programs return a number; how many of those problems are solvable; how
    many of these are accurate and appropriate; and how many are all of it and name their topic. Rules judge our
    problems, teachers judged the published ones. The second table measures all problems whose program returns a number.
    Among the accepted ones it counts near-duplicates, those that tell another one again with other numbers, and the
    different programs.
    """
    found = {}
    for folder in folders:
        dataset = Dataset(folder)
        if dataset.recipe != "mathwell" or not (told := _measures_of(dataset, measuring))["written"]:
            raise Failure(f"{folder} holds no written word problems: use a dataset of the recipe mathwell")
        found[folder] = told
    if as_json:
        echo(json.dumps(found))
        return
    console = open_console()
    for heads in (VERDICTS, MEASURES):
        console.print(beside_published(found, heads))
    for folder, told in found.items():
        echo(told_repetition(folder, told))


def _measures_of(dataset: Dataset, measuring: MeasuringModels) -> dict[str, Any]:
    counted = count_authored(dataset)
    return {**counted.as_json(), **measuring.measures(counted.measured.sample), **repetition(_written(dataset))}


def _written(dataset: Dataset) -> Iterator[tuple[str, str]]:
    for batch in dataset.batches(["problem.question", "problem.solution"]):
        yield from ((row["problem"]["question"], row["problem"]["solution"]) for row in batch.to_pylist())
