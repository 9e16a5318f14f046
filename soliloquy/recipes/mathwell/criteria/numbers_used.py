"""Rules for the numbers of the code: the text's own, all that the question needs, each in its place."""

import math
import re
from itertools import pairwise

from soliloquy.recipes.mathwell.criteria.links import misreading
from soliloquy.recipes.mathwell.criteria.mentions import Mention
from soliloquy.recipes.mathwell.criteria.parsed_problem import Objections, ParsedProblem, is_measure

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


def pairs(problem: ParsedProblem) -> Objections:
    """A rate is multiplied by the thing that it is per: a price for adults by the adults."""
    counted = [one for one in problem.question.mentions if not (one.rate or one.incidental)]
    for _, rate, other in problem.operands("*"):
        mention, count = problem.links.mention(rate), problem.links.mention(other)
        if mention is None or count is None or not mention.rate or not mention.per or count.rate:
            continue
        if count.thing in ("", mention.per) or is_measure(mention.per):
            continue
        meant = next((one for one in counted if one.thing == mention.per), None)
        if meant and meant.value != count.value:
            told = f"{mention.value:g} {mention.thing} are for each {mention.per}"
            yield f"{told}, and the code takes the {count.value:g} {count.thing}"


def attached(problem: ParsedProblem) -> Objections:
    """A count directly before a rate belongs to it: in "6 three-point shots" the 6 goes with the 3."""
    mentions = problem.question.mentions
    after = {id(one): other for one, other in pairwise(mentions) if other.start - one.end <= 1 and other.rate}
    for _, part, other_part in problem.operands("*"):
        one, other = problem.links.mention(part), problem.links.mention(other_part)
        if one and other and id(one) in after and other.rate and after[id(one)] is not other:
            yield f"{one.value:g} goes with {after[id(one)].value:g}, and the code multiplies it by {other.value:g}"


def sharers(problem: ParsedProblem) -> Objections:
    """The one who shares counts too: "shares with 2 friends, so that all three have the same"."""
    for term in problem.steps("/", "//"):
        mention = problem.links.mention(term.parts[1])
        if mention is None or term.parts[1].value != mention.value:
            continue
        together = any(one.value == mention.value + 1 and one.incidental for one in problem.question.mentions)
        if together and f"with {mention.value:g} " in problem.question.text:
            yield f"{mention.value + 1:g} share, and the code divides by {mention.value:g}"
