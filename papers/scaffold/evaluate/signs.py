"""Detects by rule what a reply does: asks, tells, leads back, confirms, corrects, repeats, ends."""

import functools
import re
from collections.abc import Sequence

from soliloquy.recipes.scaffold.expected_answers import final_number, revealed
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.reply_rules import count_questions
from soliloquy.texts.phrases import is_much_like
from soliloquy.texts.utterances import uptake, words
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy_papers.scaffold.evaluate import PROTOCOL

_JUDGING = PROTOCOL["judging"]


def asks(reply: str) -> bool:
    return count_questions(reply) > 0


def ends(reply: str) -> bool:
    """Whether the tutor has finished: its reply asks nothing and states a number."""
    return not asks(reply) and final_number(reply) is not None


def tells_answer(reply: str, problem: Problem) -> bool:
    """Whether a reply states the final answer and the problem does not."""
    answer = SubQuestion(answer=format_value(problem.answer.value, problem.answer.unit))
    return any(revealed(reply, [answer], problem.question))


def shows(sign: str, reply: str) -> bool:
    return _sign(sign).search(reply) is not None


def repeats(reply: str, before: Sequence[str]) -> bool:
    return any(is_much_like(reply, one, _JUDGING["same_words"]) for one in before)


def is_about(reply: str, problem: Problem) -> bool:
    """Whether a reply uses a word of the problem or of the questions that lead to its solution."""
    texts = [problem.question, *(step.ask for step in problem.steps), *(step.result.name for step in problem.steps)]
    return bool(uptake(words(" ".join(texts)), words(reply)))


@functools.cache
def _sign(name: str) -> re.Pattern[str]:
    return re.compile("|".join(PROTOCOL["signs"][name]), re.IGNORECASE | re.DOTALL)
