"""Measures word problems: how alike they are, and how language models rate them."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from soliloquy.cli.options import EXISTING_FILE
from soliloquy.problems.sifting.near_duplicates import NearDuplicates
from soliloquy.problems.sifting.policy import DUPLICATES
from soliloquy.recipes.mathwell.commands.labelled import word_problems
from soliloquy.recipes.mathwell.figures.problem_measures import ProblemMeasures, SampledProblem

if TYPE_CHECKING:
    from training.evaluation.text_models import BertScore, Perplexity

_AT_ONCE = 1_000
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


_OPTIONS = (
    click.option(
        "--references", metavar="FILE", type=EXISTING_FILE, help="Word problems to compare with by BERTScore."
    ),
    click.option(
        "--bertscore", metavar="DIR", type=_FOLDER, help="An encoder that measures how alike the problems are."
    ),
    click.option("--perplexity", metavar="DIR", type=_FOLDER, help="A language model that measures their perplexity."),
)


def measuring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Passes the models of these options to the command as `measuring`."""

    @functools.wraps(command)
    def measured(
        *arguments: Any, perplexity: Path | None, bertscore: Path | None, references: Path | None, **options: Any
    ) -> Any:
        return command(*arguments, measuring=_models(perplexity, bertscore, references), **options)

    return functools.reduce(lambda made, option: option(made), _OPTIONS, measured)


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


def _models(perplexity: Path | None, bertscore: Path | None, references: Path | None) -> MeasuringModels:
    """Loads the models of the options; raises Failure."""
    from training.evaluation.text_models import BertScore, Perplexity

    if references and not bertscore:
        raise click.UsageError("--references requires --bertscore")
    others = ProblemMeasures()
    for problem, _ in word_problems(references) if references else ():
        others.add(problem.question, problem.code, ())
    return MeasuringModels(
        perplexity=Perplexity(perplexity) if perplexity else None,
        bertscore=BertScore(bertscore) if bertscore else None,
        references=[one.question for one in others.sample],
    )


def near_duplicates(questions: Iterable[str]) -> int:
    """Counts the questions that are nearly the same as an earlier one."""
    index = NearDuplicates(DUPLICATES.same, ignore_numbers=False)
    left, found = iter(questions), 0
    while batch := list(islice(left, _AT_ONCE)):
        found += sum(match is not None for match in index.sift(batch))
    return found


def _mean(scores: Sequence[float]) -> float | None:
    return round(fmean(scores), 2) if scores else None
