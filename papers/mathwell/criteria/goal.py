"""Rules for the goal: the code finds the requested rest, total or average, in the requested unit."""

import re

from soliloquy_papers.mathwell.criteria.parsed_problem import Objections, ParsedProblem, is_measure
from soliloquy_papers.mathwell.criteria.words import asks_for, happens

_REST = re.compile(r"\b(?:the rest|the others|the remaining)\b", re.IGNORECASE)
_REDUCED = re.compile(r"\b(?:off|discount|reduced|cheaper|sale|reduction)\b", re.IGNORECASE)


def operation_missing(problem: ParsedProblem) -> Objections:
    """The question requires an operation that the code lacks."""
    asked, question = problem.question.asked, problem.question
    operations, takes_away = problem.operations, problem.takes_away()
    if not takes_away:
        # After "gives half away" the other half is left.
        halved = any(one.value == 0.5 for one in problem.used)
        if asks_for(asked, "left") and not halved:
            yield "what is left is asked for, and the code takes nothing away"
        elif asks_for(asked, "more") and "max" not in operations:
            yield "a difference is asked for, and the code takes nothing away"
        elif asks_for(asked, "not"):
            yield "it is asked how many are not so, and the code takes nothing away"
        elif _REST.search(question.text) and not _REST.search(asked) and not operations & {"/", "//"}:
            yield "the rest is asked for, and the code takes nothing away"
        elif asks_for(asked, "reduced") and _REDUCED.search(question.text):
            yield "the price after the reduction is asked for, and the code takes nothing away"
    if asks_for(asked, "average") and not operations & {"/", "//"}:
        yield "an average is asked for, and the code divides by nothing"
    if asks_for(asked, "area") and "*" not in operations and "**" not in operations:
        yield "an area is asked for, and the code multiplies nothing"
    sides = len(problem.used) == 2 and all(is_measure(one.thing) for one in problem.used)
    if asks_for(asked, "area") and sides and {"+", "*"} <= operations and not operations & {"-", "/"}:
        yield "an area is asked for, and the code adds its sides"


def total(problem: ParsedProblem) -> Objections:
    """A question for the total adds all parts."""
    question, operations = problem.question, problem.operations
    if not asks_for(question.asked, "total") or asks_for(question.asked, "more") or asks_for(question.asked, "left"):
        return
    gone = any(one.compared < 0 or one.share or happens(one.clause) < 0 for one in question.mentions)
    if "-" in operations and not gone and not _REST.search(question.text):
        yield "all of it is asked for, and the code takes something away"
    related = [one for one in problem.used if one.factor or one.compared]
    shared = re.search(r"\b(?:together|both|altogether|in all|in total|total)\b", question.asked)
    if related and shared and len(problem.used) == 2 and not _twice(problem):
        yield "both are asked for together, and the code counts only one of them"


def _twice(problem: ParsedProblem) -> bool:
    """Whether the code uses a number twice: for one side of a comparison and for the other."""
    numbers = [id(term) for term in problem.terms if not term.operation and problem.links.mention(term)]
    return len(numbers) > len(set(numbers)) or len({"+", "-"} & problem.operations) == 2
