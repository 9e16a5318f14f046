"""Judges and measures a written problem."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from soliloquy.recipes.judges import Judge
from soliloquy.recipes.mathwell.commissions import authorship_of, labelled
from soliloquy.recipes.mathwell.criteria import model_judge, verdicts
from soliloquy.recipes.mathwell.criteria.operations import operations_in
from soliloquy.recipes.mathwell.criteria.scoring import score
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, Scores, WordProblem
from soliloquy.recipes.mathwell.labels_pb2 import Authorship
from soliloquy.recipes.mathwell.policy import POLICY
from soliloquy.runtime.ask import Ask
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.phrases import shared_words
from soliloquy.truth.readability import flesch_kincaid, tokens
from soliloquy.v1.conversation_pb2 import Example, Opinion, Problem, Ruling

if TYPE_CHECKING:
    from soliloquy.recipes.mathwell.criteria.classifiers import Classifiers

_RULINGS = {True: Ruling.RULING_YES, False: Ruling.RULING_NO, None: Ruling.RULING_UNDECIDED}
_MEETS = {ruling: meets for meets, ruling in _RULINGS.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassifierJudge:
    classifiers: "Classifiers"

    def opinions(self, problem: Problem) -> Iterable[Opinion]:
        return map(_opinion, self.classifiers.opinions(WordProblem.from_problem(problem)))


def load_judge(path: Path) -> ClassifierJudge:
    """Raises BadClassifiers."""
    # Imports numpy, which most commands do without.
    from soliloquy.recipes.mathwell.criteria.classifiers import load

    return ClassifierJudge(classifiers=load(path))


async def judge(problem: Problem, ask: Ask, classifiers: Judge | None) -> None:
    """Records the opinions and measures of a problem; asks a model only if no other judge objects."""
    word_problem = WordProblem.from_problem(problem)
    scores = score(word_problem)
    authorship = authorship_of(problem)
    opinions = authorship.opinions
    opinions.extend(map(_opinion, scores.opinions))
    if classifiers:
        opinions.extend(classifiers.opinions(problem))
    _measure(problem, authorship, scores)
    # Kept even if the model's answers are unusable.
    problem.labels = labelled(authorship)
    if POLICY["judges"]["model"] and not any(one.ruling == Ruling.RULING_NO for one in opinions):
        opinions.extend(map(_opinion, await model_judge.opinions(word_problem, ask)))
        problem.labels = labelled(authorship)


def _opinion(one: verdicts.Opinion) -> Opinion:
    return Opinion(criterion=one.criterion, ruling=_RULINGS[one.meets], judge=one.judge, because=one.because)


def _measure(problem: Problem, authorship: Authorship, scores: Scores) -> None:
    measures, examples = authorship.measures, authorship.commission.examples
    measures.reading_grade = flesch_kincaid(problem.question)
    measures.tokens = tokens(problem.question)
    measures.operations.extend(operations_in(problem.solution, problem.question))
    measures.names_topic = bool(scores.topic_named)
    measures.likeness = max((shared_words(problem.question, one.question) for one in examples), default=0.0)


def recorded_scores(problem: Problem) -> Scores:
    """Returns the recorded opinions of the judges."""
    authorship = authorship_of(problem)
    return Scores(
        opinions=[
            verdicts.Opinion(
                criterion=Criterion(one.criterion), meets=_MEETS[one.ruling], judge=one.judge, because=one.because
            )
            for one in authorship.opinions
        ],
        topic_named=authorship.measures.names_topic if authorship.commission.topic else None,
    )


def numbers(question: str) -> list[float]:
    return sorted(number.value for number in numbers_in_digits(question))


def is_copy(question: str, example: Example, share: float) -> bool:
    """Whether a question repeats an example: the same numbers, and at least `share` of its words."""
    # Compares words first: parsing numbers is slower and hardly ever necessary.
    return shared_words(question, example.question) >= share and numbers(question) == numbers(example.question)
