"""Judges and measures a written problem."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from soliloquy.recipes.judges import Judge
from soliloquy.runtime.ask import Ask
from soliloquy.texts.phrases import shared_words
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Example, Opinion, Problem, Ruling
from soliloquy_papers.mathwell.answers import Judgement, JudgementWithTopic
from soliloquy_papers.mathwell.commissions import authorship_of, labelled
from soliloquy_papers.mathwell.criteria.operations import operations_in
from soliloquy_papers.mathwell.criteria.scoring import score
from soliloquy_papers.mathwell.criteria.verdicts import MODEL, TOPIC, Criterion, Scores, WordProblem, opinion
from soliloquy_papers.mathwell.labels_pb2 import Authorship
from soliloquy_papers.mathwell.prompting import judging
from soliloquy_papers.mathwell.readability import flesch_kincaid, tokens


def load_judge(path: Path) -> Judge:
    """Raises Failure."""
    # Imports numpy, which most commands do without.
    from soliloquy_papers.mathwell.criteria.classifiers import load

    classifiers = load(path)
    return lambda problem: classifiers.opinions(WordProblem.from_problem(problem))


async def judge(problem: Problem, ask: Ask, classifiers: Judge | None, changed: Mapping[str, str]) -> None:
    """Records the opinions and measures of a problem; asks a model only if no other judge objects."""
    word_problem = WordProblem.from_problem(problem)
    scores = score(word_problem, list(classifiers(problem)) if classifiers else ())
    authorship = authorship_of(problem)
    opinions = authorship.opinions
    opinions.extend(scores.opinions)
    _measure(problem, authorship, scores)
    # Kept even if the model's answers are unusable.
    problem.labels = labelled(authorship)
    if not any(one.ruling == Ruling.RULING_NO for one in opinions):
        opinions.extend(await model_opinions(word_problem, opinions, ask, changed))
        problem.labels = labelled(authorship)


async def model_opinions(
    problem: WordProblem, others: Iterable[Opinion], ask: Ask, changed: Mapping[str, str]
) -> list[Opinion]:
    """Asks a model, which is told what others doubt."""
    said = await ask(judging(problem, others, changed), JudgementWithTopic if problem.topic else Judgement)
    criteria = [*Criterion, *([TOPIC] if problem.topic else [])]
    return [
        opinion(one, meets=getattr(said, one) == "y", judge=MODEL, because=getattr(said, f"why_{one}"))
        for one in criteria
    ]


def _measure(problem: Problem, authorship: Authorship, scores: Scores) -> None:
    measures, examples = authorship.measures, authorship.commission.examples
    measures.reading_grade = flesch_kincaid(problem.question)
    measures.tokens = tokens(problem.question)
    measures.operations.extend(operations_in(problem.solution, problem.question))
    measures.names_topic = bool(scores.topic_named)
    measures.likeness = max((shared_words(problem.question, one.question) for one in examples), default=0.0)


def recorded_scores(problem: Problem) -> Scores:
    """Returns the recorded opinions of the judges."""
    return Scores(opinions=authorship_of(problem).opinions)


def numbers(question: str) -> list[float]:
    return sorted(number.value for number in numbers_in_digits(question))


def is_copy(question: str, example: Example, share: float) -> bool:
    """Whether a question repeats an example: the same numbers, and at least `share` of its words."""
    # Compares words first: parsing numbers is slower and hardly ever necessary.
    return shared_words(question, example.question) >= share and numbers(question) == numbers(example.question)
