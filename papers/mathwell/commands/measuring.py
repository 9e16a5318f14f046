"""Measures word problems, some with language models, and prints the figures beside those of the MATHWELL paper."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click
from rich.table import Column, Table

from soliloquy.cli.command import setting
from soliloquy.cli.options import EXISTING_FILE, EXISTING_FOLDER
from soliloquy.cli.service_options import gathered
from soliloquy.problems.sifting.near_duplicates import repeats, told_again
from soliloquy.programs.tracing import structure_of
from soliloquy_papers.mathwell.commands.labelled import word_problems
from soliloquy_papers.mathwell.figures import PUBLISHED
from soliloquy_papers.mathwell.figures.problem_measures import ProblemMeasures, SampledProblem, cells

if TYPE_CHECKING:
    from soliloquy_training.evaluation.text_models import BertScore, Perplexity

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


# Hands a command the models of these options as `measuring`.
measuring_options = gathered("measuring", _models)


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
