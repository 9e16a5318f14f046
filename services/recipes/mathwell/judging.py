"""A written problem before its judges, and what can be measured of it."""

from soliloquy.v1.conversation_pb2 import Example, Problem, Ruling

from services.recipes.mathwell.criteria import verdicts
from services.recipes.mathwell.criteria.operations import operations_in
from services.recipes.mathwell.criteria.scoring import score
from services.recipes.mathwell.criteria.verdicts import Criterion, Scores, WordProblem
from services.recipes.mathwell.readability import flesch_kincaid, tokens
from services.truth.numbers import numbers_in_digits
from services.truth.phrases import shared_words

_RULINGS = {True: Ruling.RULING_YES, False: Ruling.RULING_NO, None: Ruling.RULING_UNDECIDED}
_MEETS = {ruling: meets for meets, ruling in _RULINGS.items()}


def judged(problem: Problem) -> None:
    """Enters the opinions and the measures."""
    authorship = problem.authorship
    scores = score(as_word_problem(problem))
    for one in scores.opinions:
        authorship.opinions.add(
            criterion=one.criterion, ruling=_RULINGS[one.meets], judge=one.judge, because=one.because
        )
    measures = authorship.measures
    measures.reading_grade = flesch_kincaid(problem.question)
    measures.tokens = tokens(problem.question)
    measures.operations.extend(operations_in(problem.solution, problem.question))
    measures.names_topic = bool(scores.topic_named)
    examples = authorship.commission.examples
    measures.likeness = max((shared_words(problem.question, one.question) for one in examples), default=0.0)


def as_word_problem(problem: Problem) -> WordProblem:
    commission = problem.authorship.commission
    return WordProblem(
        question=problem.question,
        code=problem.solution,
        answer=problem.answer.value if problem.HasField("answer") else None,
        topic=commission.topic,
        grade=commission.grade or None,
    )


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
    return numbers(question) == numbers(example.question) and shared_words(question, example.question) >= share
