"""Rules for the goal: the code finds the requested rest, total or average, in the requested unit."""

import math
import re

from soliloquy.recipes.mathwell.criteria.cues import asks_for, happens
from soliloquy.recipes.mathwell.criteria.parsed_problem import Objections, ParsedProblem, is_measure
from soliloquy.recipes.mathwell.criteria.terms import Term
from soliloquy.recipes.mathwell.criteria.words import CONVERSIONS, convertible

_REST = re.compile(r"\b(?:the rest|the others|the remaining)\b", re.IGNORECASE)
_SHARED = re.compile(r"\b(?:equally|evenly|shares?|shared|splits?|divides?|divided|equal)\b", re.IGNORECASE)
_REDUCED = re.compile(r"\b(?:off|discount|reduced|cheaper|sale|reduction)\b", re.IGNORECASE)


def operation_missing(problem: ParsedProblem) -> Objections:
    """The question requires an operation that the code lacks."""
    asked, question = problem.question.asked, problem.question
    operations, takes_away = problem.operations, problem.takes_away()
    if not takes_away:
        if asks_for(asked, "left") and not _only_shared(problem):
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
    if asks_for(asked, "area") and "+" in operations and not operations & {"-", "/"} and "*" in operations:
        yield from _perimeter_for_area(problem)


def _only_shared(problem: ParsedProblem) -> bool:
    """Whether a half occurs: after "gives half away" the other half is left."""
    return any(one.value == 0.5 for one in problem.used)


def _perimeter_for_area(problem: ParsedProblem) -> Objections:
    lengths = [one for one in problem.used if is_measure(one.thing)]
    if len(lengths) == 2 and any(term.operation == "+" for term in problem.terms) and len(problem.used) == 2:
        yield "an area is asked for, and the code adds its sides"


def around(problem: ParsedProblem) -> Objections:
    asked = problem.question.asked
    if not asks_for(asked, "around") or asks_for(asked, "area"):
        return
    square = "square" in problem.question.words
    if square and problem.result is not None and len(problem.used) == 1:
        side = problem.used[0].value
        if side and not math.isclose(problem.result.value, 4 * side):
            yield f"a square has four sides of {side:g}, and the code comes to {problem.result.value:g}"


def average(problem: ParsedProblem) -> Objections:
    """An average divides a sum by the number of its addends."""
    if not asks_for(problem.question.asked, "average"):
        return
    for term in problem.terms:
        if (
            term.operation in ("/", "//")
            and not term.parts[1].operation
            and problem.links.mention(term.parts[1]) is None
        ):
            addends = term.parts[0].addends
            if addends > 1 and term.parts[1].value != addends:
                yield f"the average of {addends} numbers is divided by {term.parts[1].value:g}"


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


def unit_asked(problem: ParsedProblem) -> Objections:
    """The answer is in the requested unit."""
    asked = problem.question.thing
    if problem.result is None or not is_measure(asked) or problem.links.known:
        return
    found = problem.thing_of(problem.result)
    if found and found != asked and convertible(found, asked):
        yield f"{asked} are asked for, and the code comes to {found}"


def _core(problem: ParsedProblem) -> Term | None:
    term = problem.result
    while term is not None and term.operation in ("int", "round", "ceil", "floor", "float"):
        term = term.parts[0]
    return term


def wrong_way_divided(problem: ParsedProblem) -> Objections:
    """With "groups of 4", the number of groups is a quotient, and the number in all groups is a product."""
    thing = problem.question.thing
    if not thing:
        return
    for term in problem.terms:
        if term.operation not in ("*", "/", "//") or term is not _core(problem):
            continue
        for place, part in enumerate(term.parts):
            mention, other = problem.links.mention(part), problem.links.mention(term.parts[1 - place])
            if mention is None or not mention.rate:
                continue
            if other is None:
                other_part = term.parts[1 - place]
                if (
                    term.operation == "*"
                    and mention.per == thing != mention.thing
                    and other_part.operation in ("+", "-")
                ):
                    yield f"how many {thing} there are is found by dividing, and the code multiplies"
                continue
            if other.rate or other.factor or other.share:
                continue
            multiplied = term.operation == "*"
            alike = mention.thing in ("", other.thing) or not other.thing
            if multiplied and mention.per == thing != mention.thing and alike and other.thing != thing:
                yield f"how many {thing} there are is found by dividing, and the code multiplies"
            elif not multiplied and place == 1 and mention.thing == thing != mention.per and other.thing != thing:
                yield f"how many {thing} there are is found by multiplying, and the code divides"
    core = _core(problem)
    if core is not None and core.operation == "*" and not core.parts[0].operation and not core.parts[1].operation:
        yield from _per_thing_multiplied(core, problem, thing)


def converted_wrong_way(problem: ParsedProblem) -> Objections:
    """Hours become minutes by multiplication, and minutes become hours by division."""
    told = {one.thing for one in problem.used}
    for term in problem.terms:
        for place, part in enumerate(term.parts if term.operation in ("*", "/", "//") else ()):
            if part.operation or problem.links.mention(part) is not None:
                continue
            for (larger, smaller), factor in CONVERSIONS.items():
                if part.value != factor or (larger in told and smaller in told):
                    continue
                if problem.question.thing == larger and smaller in told and term.operation == "*":
                    yield f"{larger} are found from {smaller} by dividing, and the code multiplies by {factor:g}"
                elif problem.question.thing == smaller and larger in told and term.operation != "*" and place == 1:
                    yield f"{smaller} are found from {larger} by multiplying, and the code divides by {factor:g}"


def shared_out(problem: ParsedProblem) -> Objections:
    """Sharing equally requires a division."""
    asked = problem.question.asked
    if _SHARED.search(problem.question.text) and asks_for(asked, "each") and not problem.operations & {"/", "//"}:
        yield "what each one gets is asked for, and the code divides by nothing"


def _per_thing_multiplied(core: Term, problem: ParsedProblem, thing: str) -> Objections:
    """Two amounts of the same measure make a ratio: "5 hours a scarf, 40 hours: how many scarves?"."""
    one, other = (problem.links.mention(part) for part in core.parts)
    if one is None or other is None or one.factor or other.factor or asks_for(problem.question.asked, "area"):
        return
    if one.thing == other.thing != thing and is_measure(one.thing):
        yield f"{one.value:g} and {other.value:g} {one.thing} are multiplied, and {thing} are asked for"
