"""Rules for the steps of the code: losses are subtracted, rates are multiplied."""

import math
import re

from soliloquy.recipes.mathwell.criteria.mentions import Mention
from soliloquy.recipes.mathwell.criteria.parsed_problem import Objections, ParsedProblem, is_measure
from soliloquy.recipes.mathwell.criteria.words import asks_for, convertible, happens, may_take_away

_MORE = re.compile(r"# more\b(?!.*\bthan\b)", re.IGNORECASE)
_PAYS = re.compile(r"\b(?:buys?|bought|buying|pays?|paid|costs?|for \$?#|purchas\w+|spends?|spent)", re.IGNORECASE)
_WANTED = re.compile(r"\b(?:needs?|wants?|goal|must|plans?|has to|have to|hopes?)\b", re.IGNORECASE)


def direction(problem: ParsedProblem) -> Objections:
    """Losses are subtracted and gains are added."""
    asked, wanted = problem.question.asked, _WANTED.search(problem.question.text)
    if asks_for(asked, "before") or asks_for(asked, "needed") or asks_for(asked, "more"):
        return
    for one in problem.used:
        said = one.compared or (0 if one.rate or one.share or one.factor else _comes(one))
        if not one.compared and one.thing not in ("", problem.question.thing or one.thing):
            continue
        # The code does the opposite of what the text says.
        if problem.signs.get(id(one)) != {-said}:
            continue
        if one.compared:
            if _about_subject(one, problem):
                yield f"{one.value:g} {'more' if said > 0 else 'less'} goes into the code the other way round"
        elif said < 0:
            others = [problem.signs.get(id(used), ()) for used in problem.used if used is not one]
            if _has_less(one, problem) and not _first_to_go(one, problem) and any(1 in signs for signs in others):
                yield f"{one.value:g} {one.thing} go, and the code adds them".replace("  ", " ")
        elif any(used.start < one.start for used in problem.used) and not wanted:
            yield f"{one.value:g} {one.thing} come, and the code takes them away".replace("  ", " ")


def _has_less(one: Mention, problem: ParsedProblem) -> bool:
    """Whether a loss reduces the requested amount; a paid price increases a bill."""
    asked = problem.question.asked
    if one.thing == "dollar":
        return asks_for(asked, "left") or re.search(r"\b(?:have|has)\b", asked) is not None
    added = any(problem.links.mention(part) is one for _, part, _ in problem.operands("+", "-"))
    return added and happens(asked) >= 0


def _comes(one: Mention) -> int:
    """Returns +1 for a gain and -1 for a loss; a payment is a loss."""
    if one.thing == "dollar" and _PAYS.search(one.clause):
        return -1
    return 1 if _MORE.search(one.clause) and not happens(one.clause) else happens(one.clause)


def _first_to_go(one: Mention, problem: ParsedProblem) -> bool:
    """Whether no amount precedes the loss; the question then counts the loss itself."""
    return all(used.start >= one.start or _comes(used) < 0 for used in problem.used)


def _about_subject(one: Mention, problem: ParsedProblem) -> bool:
    """Whether the question asks for the subject of the comparison rather than for the other side."""
    subject = re.match(r"(?:In [^,]*, )?(?:And |But )?((?:His|Her|Their|The|My|Class)? ?\S+)", one.clause)
    than = re.search(r"\bthan (?:the )?([A-Z]?\w+)", one.clause)
    asked = problem.question.asked
    if than and re.search(rf"\b{re.escape(than[1].lower())}\b", asked):
        return False
    word = subject[1].split()[-1].lower().removesuffix("'s") if subject else ""
    return bool(word) and (word in asked or re.search(r"\b(?:he|she|it|they)\b", asked) is not None)


def rate_added(problem: ParsedProblem) -> Objections:
    """A rate is multiplied by a count, not added to it."""
    per_used = {one.thing for one in problem.used if one.thing}
    for term, rate, other in problem.operands("+", "-"):
        mention = problem.links.mention(rate)
        if mention is None or not mention.rate or problem.is_rate(other) or _times_one(mention, problem):
            continue
        has_rate = any(problem.is_rate(part) for part in other.walk())
        if not has_rate or problem.links.unused or mention.per in per_used:
            done = "added" if term.operation == "+" else "taken away"
            yield f"{mention.value:g} {mention.thing} for each of something are {done} once"


def _times_one(mention: Mention, problem: ParsedProblem) -> bool:
    """Whether a rate applies once: "plus $5 for each order", with a single order."""
    counted = any(one.thing == mention.per for one in problem.question.mentions)
    others = any(one.rate and one.per == mention.per and one is not mention for one in problem.used)
    return bool(mention.per) and not counted and not others and problem.question.thing == mention.thing


def taken_from_nothing(problem: ParsedProblem) -> Objections:
    """The code subtracts although no word of the text calls for it."""
    question = problem.question
    called_for = may_take_away(question.text) or asks_for(question.asked, "more")
    told = any(one.compared or one.share or one.part for one in question.mentions)
    if "-" in problem.operations and not called_for and not told:
        yield "the code takes something away, and nothing in the text goes, is compared or is left over"


def ratio_added(problem: ParsedProblem) -> Objections:
    """Factors and conversions are multiplied, not added."""
    for _, part, _ in problem.operands("+"):
        mention = problem.links.mention(part)
        if mention is not None and mention.factor and part.value == mention.value and mention.value != 1:
            yield f"{mention.value:g} times as many are added as {mention.value:g}"
        elif mention is None and part in problem.links.known and part.value > 2:
            yield f"the code adds {part.value:g}, of which the text has nothing"


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


def rate_time(problem: ParsedProblem) -> Objections:
    """A rate requires its own unit of time: for 3 cups a day, 2 weeks become days first."""
    if problem.links.known:
        return
    for _, rate, other in problem.operands("*"):
        mention, times = problem.links.mention(rate), problem.links.mention(other)
        if mention is None or times is None or not mention.rate:
            continue
        same_time = mention.per == times.thing or not convertible(mention.per, times.thing)
        if not same_time and math.isclose(other.value, times.value):
            yield f"{mention.value:g} {mention.thing} a {mention.per} are multiplied by {times.value:g} {times.thing}"
