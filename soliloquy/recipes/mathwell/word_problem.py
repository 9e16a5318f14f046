"""A problem of a conversation as its judges look at it."""

from soliloquy.recipes.mathwell.criteria.verdicts import WordProblem
from soliloquy.v1.conversation_pb2 import Problem


def as_word_problem(problem: Problem) -> WordProblem:
    commission = problem.authorship.commission
    return WordProblem(
        question=problem.question,
        code=problem.solution,
        answer=problem.answer.value if problem.HasField("answer") else None,
        topic=commission.topic,
        grade=commission.grade or None,
    )
