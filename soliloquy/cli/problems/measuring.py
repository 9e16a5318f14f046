"""How alike the word problems of a set are, and what models say of them that are named to measure them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

import click

from soliloquy.cli.problems.labelled import word_problems
from soliloquy.dataset.problem_measures import ProblemMeasures, SampledProblem
from soliloquy.problems.files.reading.rows import UnreadableSource
from soliloquy.problems.sifting.near_duplicates import NearDuplicates
from soliloquy.problems.sifting.policy import DUPLICATES
from soliloquy.runs.failure import Failure

if TYPE_CHECKING:
    from training.evaluation.text_models import BertScore, Perplexity

C = TypeVar("C", bound=Callable[..., Any])
_AT_ONCE = 1_000
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


def measuring_options(command: C) -> C:
    """Which models measure, and what problems are compared with; without them there are no such figures."""
    for option in (
        click.option(
            "--references",
            metavar="FILE",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="Word problems that BERTScore compares these with besides.",
        ),
        click.option("--bertscore", metavar="DIR", type=_FOLDER, help="An encoder: how alike any two of them are."),
        click.option("--perplexity", metavar="DIR", type=_FOLDER, help="A language model: how well it foretells them."),
    ):
        command = option(command)
    return command


@dataclass(frozen=True, kw_only=True)
class Models:
    perplexity: "Perplexity | None"
    bertscore: "BertScore | None"
    # Questions of other problems.
    references: Sequence[str]

    def of(self, sample: Sequence[SampledProblem]) -> Mapping[str, float | None]:
        """Means over a sample; None where nothing measures, or there is nothing to compare."""
        questions = [one.question for one in sample]
        written = [f"{one.question}\n\n{one.code}" for one in sample]
        return {
            "perplexity": _mean(self.perplexity.scores(written) if self.perplexity else ()),
            # The order is a random one: each beside the next stands for all pairs.
            "bertscore": self._alike(list(pairwise(questions))),
            "bertscore_references": self._alike(list(zip(questions, self.references, strict=False))),
        }

    def _alike(self, pairs: Sequence[tuple[str, str]]) -> float | None:
        if not self.bertscore or not pairs:
            return None
        one, other = zip(*pairs, strict=True)
        return _mean(self.bertscore.scores(one, other))


def models(perplexity: Path | None, bertscore: Path | None, references: Path | None) -> Models:
    """Raises Failure."""
    from training.evaluation.text_models import BertScore, NoLocalModel, Perplexity

    if references and not bertscore:
        raise click.UsageError("--references says what --bertscore compares with, and goes with it")
    others = ProblemMeasures()
    try:
        for problem, _ in word_problems(references) if references else ():
            others.add(problem.question, problem.code, ())
        return Models(
            perplexity=Perplexity(perplexity) if perplexity else None,
            bertscore=BertScore(bertscore) if bertscore else None,
            references=[one.question for one in others.sample],
        )
    except (NoLocalModel, UnreadableSource) as unusable:
        raise Failure(str(unusable)) from unusable


def near_duplicates(questions: Iterable[str]) -> int:
    """How many say nearly the same as an earlier one."""
    index = NearDuplicates(DUPLICATES.same, ignore_numbers=False)
    left, found = iter(questions), 0
    while batch := list(islice(left, _AT_ONCE)):
        found += sum(match is not None for match in index.sift(batch))
    return found


def _mean(scores: Sequence[float]) -> float | None:
    return round(fmean(scores), 2) if scores else None
