"""A written problem before its judges, and what can be measured of it."""

from collections.abc import Iterable

from soliloquy.recipes.mathwell.criteria import model_judge, verdicts
from soliloquy.recipes.mathwell.criteria.at_hand import at_hand
from soliloquy.recipes.mathwell.criteria.operations import operations_in
from soliloquy.recipes.mathwell.criteria.scoring import score
from soliloquy.recipes.mathwell.criteria.verdicts import Criterion, Scores
from soliloquy.recipes.mathwell.policy import POLICY
from soliloquy.recipes.mathwell.readability import flesch_kincaid, tokens
from soliloquy.recipes.mathwell.word_problem import as_word_problem
from soliloquy.runtime.ask import Ask
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.phrases import shared_words
from soliloquy.v1.conversation_pb2 import Example, Problem, Ruling

_RULINGS = {True: Ruling.RULING_YES, False: Ruling.RULING_NO, None: Ruling.RULING_UNDECIDED}
_MEETS = {ruling: meets for meets, ruling in _RULINGS.items()}


async def judged(problem: Problem, ask: Ask, *, classifiers: str) -> None:
    """Enters the opinions and the measures; a model is asked only what nobody else has said no to.

    `classifiers` is the digest of those that the run wants; empty for none.
    """
    word_problem = as_word_problem(problem)
    scores = score(word_problem, list(at_hand(classifiers).opinions(word_problem)) if classifiers else ())
    _enter(problem, scores.opinions)
    _measure(problem, scores)
    if POLICY["judges"]["model"] and not any(one.meets is False for one in scores.opinions):
        _enter(problem, await model_judge.opinions(word_problem, ask))


def _enter(problem: Problem, opinions: Iterable[verdicts.Opinion]) -> None:
    for one in opinions:
        problem.authorship.opinions.add(
            criterion=one.criterion, ruling=_RULINGS[one.meets], judge=one.judge, because=one.because
        )


def _measure(problem: Problem, scores: Scores) -> None:
    measures, examples = problem.authorship.measures, problem.authorship.commission.examples
    measures.reading_grade = flesch_kincaid(problem.question)
    measures.tokens = tokens(problem.question)
    measures.operations.extend(operations_in(problem.solution, problem.question))
    measures.names_topic = bool(scores.topic_named)
    measures.likeness = max((shared_words(problem.question, one.question) for one in examples), default=0.0)


def scores_of(problem: Problem) -> Scores:
    """What the judges said, as it was entered."""
    authorship = problem.authorship
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


def copies(question: str, example: Example, share: float) -> bool:
    """Whether a question is an example once more: with its numbers, and so much of its words."""
    # Its words are looked at first, which hardly ever leaves numbers to be read.
    return shared_words(question, example.question) >= share and numbers(question) == numbers(example.question)
