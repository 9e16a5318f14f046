"""Rules for the numbers of the code: the text's own, all that the question needs, each in its place."""

import math
import re

from soliloquy_papers.mathwell.criteria.links import misreading
from soliloquy_papers.mathwell.criteria.mentions import Mention
from soliloquy_papers.mathwell.criteria.parsed_problem import Objections, ParsedProblem

_COUNTED_WITH = re.compile(r"\s*[a-z]+ (?:and|,)\s*$", re.IGNORECASE)


def result(problem: ParsedProblem) -> Objections:
    """The traced steps agree with the result of the execution."""
    answer = problem.problem.answer
    if problem.result is None or answer is None:
        return
    if not math.isclose(problem.result.value, answer, rel_tol=1e-6, abs_tol=1e-9):
        yield f"the steps of the code come to {problem.result.value:g}, and its answer is {answer:g}"


def wrong_number(problem: ParsedProblem) -> Objections:
    if problem.result is None:
        return
    for term in problem.links.invented:
        if why := misreading(term, problem.question, problem.links, problem.result):
            yield why


def left_out(problem: ParsedProblem) -> Objections:
    """The code omits a number of the text that the question needs."""
    if not problem.operations:
        return
    things = {one.thing for one in problem.used} | {problem.question.thing}
    pers = {one.per for one in problem.used if one.rate}
    for one in problem.links.unused:
        if one.thing in things or not one.thing or one.thing in pers or _counted_with_used(one, problem):
            yield f"the code leaves out the {one.value:g} {one.thing}".rstrip()


def _counted_with_used(one: Mention, problem: ParsedProblem) -> bool:
    """Whether a number is listed with a used one: "36 children and 4 teachers"."""
    text = problem.question.text
    for used in problem.used:
        first, second = sorted((used, one), key=lambda each: each.start)
        if first.sentence == second.sentence and _COUNTED_WITH.fullmatch(text[first.end : second.start]):
            return True
    return any(used.rate and not used.per and used.sentence == one.sentence and not one.rate for used in problem.used)
