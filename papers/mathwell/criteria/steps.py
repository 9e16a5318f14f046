"""Rules for the steps of the code: what is added, taken away and multiplied belongs together."""

from soliloquy_papers.mathwell.criteria.parsed_problem import Objections, ParsedProblem, is_measure
from soliloquy_papers.mathwell.criteria.words import asks_for, may_take_away


def taken_from_nothing(problem: ParsedProblem) -> Objections:
    """The code subtracts although no word of the text calls for it."""
    question = problem.question
    called_for = may_take_away(question.text) or asks_for(question.asked, "more")
    told = any(one.compared or one.share or one.part for one in question.mentions)
    if "-" in problem.operations and not called_for and not told:
        yield "the code takes something away, and nothing in the text goes, is compared or is left over"


def unlike_added(problem: ParsedProblem) -> Objections:
    """Amounts in different units cannot be added."""
    for term in problem.steps("+", "-"):
        one, other = (problem.thing_of(part) for part in term.parts)
        measures = is_measure(one) or is_measure(other)
        if one and other and one != other and measures:
            yield f"{other} cannot be {'added to' if term.operation == '+' else 'taken from'} {one}"


def counts_multiplied(problem: ParsedProblem) -> Objections:
    """Two counts are multiplied although neither is a rate."""
    asked = problem.question.asked
    if asks_for(asked, "area") or asks_for(asked, "around"):
        return
    for term in problem.steps("*"):
        left, right = (problem.links.mention(part) for part in term.parts)
        if left is None or right is None or not all(problem.is_count(part) for part in term.parts):
            continue
        # The 12 of "2 dozen" is not a number of the text.
        if any(term.parts[place].value != one.value for place, one in enumerate((left, right))):
            continue
        counted = left.thing and right.thing and not is_measure(left.thing) | is_measure(right.thing)
        if counted and left.thing == right.thing:
            yield f"{left.value:g} and {right.value:g} {left.thing} are multiplied by each other"
        elif left.sentence == right.sentence and counted:
            yield f"{left.value:g} {left.thing} are multiplied by {right.value:g} {right.thing} as if one had so many"
