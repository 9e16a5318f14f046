"""Whether the code finds what is asked for, from the numbers of the text, by steps that fit its words."""

import math
import re
from collections.abc import Iterator

from services.recipes.mathwell.criteria.cues import asks_for, happens
from services.recipes.mathwell.criteria.links import missing_conversion
from services.recipes.mathwell.criteria.question import Mention
from services.recipes.mathwell.criteria.solvable import substituted
from services.recipes.mathwell.criteria.understood import Understood, is_measure
from services.recipes.mathwell.criteria.words import convertible
from services.recipes.mathwell.criteria.working import Term

Found = Iterator[str]

_REST = re.compile(r"\b(?:the rest|the others|the remaining)\b", re.IGNORECASE)
_COUNTED_WITH = re.compile(r"\s*[a-z]+ (?:and|,)\s*$", re.IGNORECASE)
_AGO = re.compile(r"\byears ago\b")
_LATER = re.compile(r"\bin \S+ years\b|\byears from now\b|\byears later\b")
_REDUCED = re.compile(r"\b(?:off|discount|reduced|cheaper|sale|reduction)\b", re.IGNORECASE)


def result(problem: Understood) -> Found:
    """What the code returned when it was run is what its steps come to."""
    answer = problem.problem.answer
    if problem.result is None or answer is None:
        return
    if not math.isclose(problem.result.value, answer, rel_tol=1e-6, abs_tol=1e-9):
        yield f"the steps of the code come to {problem.result.value:g}, and its answer is {answer:g}"


def wrong_number(problem: Understood) -> Found:
    for term in problem.links.invented:
        if (meant := substituted(term, problem)) is not None:
            yield f"the code takes {term.value:g} where the text says {meant.value:g}"
        elif (pair := missing_conversion(term, problem.question)) is not None:
            yield f"the code converts by {term.value:g}; one {pair[0]} has {pair[2]:g} of a {pair[1]}"


def left_out(problem: Understood) -> Found:
    """A number of the text that belongs to what is asked, and that the code does not take."""
    if not problem.operations:
        return
    things = {one.thing for one in problem.used} | {problem.question.thing}
    pers = {one.per for one in problem.used if one.rate}
    for one in problem.links.unused:
        if one.thing in things or not one.thing or one.thing in pers or _counted_with_used(one, problem):
            yield f"the code leaves out the {one.value:g} {one.thing}".rstrip()


def _counted_with_used(one: Mention, problem: Understood) -> bool:
    """ "36 children and 4 teachers": the one is counted with the other."""
    text = problem.question.text
    for used in problem.used:
        first, second = sorted((used, one), key=lambda each: each.start)
        if first.sentence == second.sentence and _COUNTED_WITH.fullmatch(text[first.end : second.start]):
            return True
    return False


def operation_missing(problem: Understood) -> Found:
    """What is asked for needs an operation that the code does not have."""
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


def _only_shared(problem: Understood) -> bool:
    """ "gives half away": what is left is the other half."""
    return any(one.value == 0.5 for one in problem.used)


def _perimeter_for_area(problem: Understood) -> Found:
    lengths = [one for one in problem.used if is_measure(one.thing)]
    if len(lengths) == 2 and any(term.operation == "+" for term in problem.terms) and len(problem.used) == 2:
        yield "an area is asked for, and the code adds its sides"


def around(problem: Understood) -> Found:
    asked = problem.question.asked
    if not asks_for(asked, "around") or asks_for(asked, "area"):
        return
    square = "square" in problem.question.words
    if square and problem.result is not None and len(problem.used) == 1:
        side = problem.used[0].value
        if side and not math.isclose(problem.result.value, 4 * side):
            yield f"a square has four sides of {side:g}, and the code comes to {problem.result.value:g}"


def average(problem: Understood) -> Found:
    """A sum is divided by how many there are."""
    if not asks_for(problem.question.asked, "average"):
        return
    for term in problem.terms:
        if (
            term.operation in ("/", "//")
            and not term.parts[1].operation
            and problem.links.mention(term.parts[1]) is None
        ):
            addends = _addends(term.parts[0])
            if addends > 1 and term.parts[1].value != addends:
                yield f"the average of {addends} numbers is divided by {term.parts[1].value:g}"


def _addends(term: Term) -> int:
    return sum(_addends(part) for part in term.parts) if term.operation == "+" else 1


def total(problem: Understood) -> Found:
    """All of it is asked for: then what belongs to it is added."""
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


def _twice(problem: Understood) -> bool:
    """Whether a number of the text is used again: for oneself and for what is compared with it."""
    numbers = [id(term) for term in problem.terms if not term.operation and problem.links.mention(term)]
    return len(numbers) > len(set(numbers)) or len({"+", "-"} & problem.operations) == 2


def direction(problem: Understood) -> Found:
    """What goes is taken away, what comes is added."""
    asked = problem.question.asked
    backwards = asks_for(asked, "before") or asks_for(asked, "needed") or asks_for(asked, "more")
    for one in problem.used:
        signs = problem.signs.get(id(one), set())
        said = one.compared or (0 if one.rate or one.share or one.factor else happens(one.clause))
        if said == 0 or backwards or 0 in signs or len(signs) != 1:
            continue
        if one.compared:
            if (said > 0 and signs == {-1} or said < 0 and signs == {1}) and _about_subject(one, problem):
                yield f"{one.value:g} {'more' if said > 0 else 'less'} goes into the code the other way round"
        elif said < 0 and signs == {1} and _keeps(problem) and len(problem.used) > 1:
            if not _all_go(problem):
                yield f"{one.value:g} {one.thing} go, and the code adds them".replace("  ", " ")
        elif said > 0 and signs == {-1} and _keeps(problem) and _starts_before(one, problem):
            yield f"{one.value:g} {one.thing} come, and the code takes them away".replace("  ", " ")


def _keeps(problem: Understood) -> bool:
    """Whether the question is what there is in the end."""
    asked = problem.question.asked
    return asks_for(asked, "left") or re.search(r"\b(?:have|has|are there|there be|was|is)\b", asked) is not None


def _all_go(problem: Understood) -> bool:
    return all(happens(one.clause) <= 0 for one in problem.used) and not any(
        happens(one.clause) == 0 for one in problem.used
    )


def _starts_before(one: Mention, problem: Understood) -> bool:
    return any(used.start < one.start and happens(used.clause) == 0 for used in problem.used)


def _about_subject(one: Mention, problem: Understood) -> bool:
    """Whether the question asks for the one who has more or less, not for the other."""
    subject = re.match(r"(?:In [^,]*, )?(?:And |But )?((?:His|Her|Their|The|My|Class)? ?\S+)", one.clause)
    than = re.search(r"\bthan (?:the )?([A-Z]?\w+)", one.clause)
    asked = problem.question.asked
    if than and re.search(rf"\b{re.escape(than[1].lower())}\b", asked):
        return False
    word = subject[1].split()[-1].lower().removesuffix("'s") if subject else ""
    return bool(word) and (word in asked or re.search(r"\b(?:he|she|it|they)\b", asked) is not None)


def rate_added(problem: Understood) -> Found:
    """How many there are for each of something is multiplied, not added to how many of them there are."""
    for term in problem.terms:
        if term.operation not in ("+", "-"):
            continue
        left, right = term.parts
        for rate, other in ((left, right), (right, left)):
            mention = problem.links.mention(rate)
            if mention is None or not mention.rate or problem.is_rate(other):
                continue
            if _has_rate(other, problem) and not (problem.links.unused or _per_is_used(mention, problem)):
                continue
            if _times_one(mention, problem):
                continue
            yield f"{mention.value:g} {mention.thing} for each of something are {'added' if term.operation == '+' else 'taken away'} once"


def _per_is_used(mention: Mention, problem: Understood) -> bool:
    return any(one.thing == mention.per and mention.per for one in problem.used)


def _has_rate(term: Term, problem: Understood) -> bool:
    return any(problem.is_rate(part) for part in term.walk())


def _times_one(mention: Mention, problem: Understood) -> bool:
    """ "plus $5 for each order", of which there is one."""
    return (
        not any(one.thing == mention.per for one in problem.question.mentions)
        and bool(mention.per)
        and not any(one.thing and one.rate and one.per == mention.per and one is not mention for one in problem.used)
        and problem.question.thing == mention.thing
        and mention.per not in ("",)
    )


def unlike_added(problem: Understood) -> Found:
    """What is measured in different units, or not measured alike at all, cannot be added."""
    for term in problem.terms:
        if term.operation not in ("+", "-"):
            continue
        one, other = (problem.thing_of(part) for part in term.parts)
        measures = is_measure(one) or is_measure(other)
        if one and other and one != other and measures:
            yield f"the code {'adds' if term.operation == '+' else 'takes'} {other} {'to' if term.operation == '+' else 'from'} {one}"


def counts_multiplied(problem: Understood) -> Found:
    """Two counts are multiplied although neither says how many there are for each of the other."""
    asked = problem.question.asked
    for term in problem.terms:
        if term.operation != "*" or asks_for(asked, "area") or asks_for(asked, "around"):
            continue
        left, right = (problem.links.mention(part) for part in term.parts)
        if left is None or right is None or not all(problem.is_count(part) for part in term.parts):
            continue
        if left.thing and left.thing == right.thing and not is_measure(left.thing):
            yield f"{left.value:g} and {right.value:g} {left.thing} are multiplied by each other"
        elif (
            left.sentence == right.sentence
            and left.thing
            and right.thing
            and not is_measure(left.thing) | is_measure(right.thing)
        ):
            yield f"{left.value:g} {left.thing} and {right.value:g} {right.thing} are multiplied, and neither is for each of the other"


def wrong_way_divided(problem: Understood) -> Found:
    """ "groups of 4": how many groups there are is divided, how many there are in groups is multiplied."""
    thing = problem.question.thing
    if not thing:
        return
    for term in problem.terms:
        if term.operation not in ("*", "/", "//") or term is not _core(problem):
            continue
        for place, part in enumerate(term.parts):
            mention, other = problem.links.mention(part), problem.links.mention(term.parts[1 - place])
            if mention is None or other is None or not mention.rate or other.rate or other.factor or other.share:
                continue
            multiplied = term.operation == "*"
            if (
                multiplied
                and mention.per == thing != mention.thing
                and other.thing in (mention.thing, "")
                and other.thing != thing
            ):
                yield f"how many {thing} there are is found by dividing, and the code multiplies"
            elif not multiplied and place == 1 and mention.thing == thing != mention.per and other.thing != thing:
                yield f"how many {thing} there are is found by multiplying, and the code divides"
    core = _core(problem)
    if core is not None and core.operation == "*" and not core.parts[0].operation and not core.parts[1].operation:
        yield from _per_thing_multiplied(core, problem, thing)


def _per_thing_multiplied(core: Term, problem: Understood, thing: str) -> Found:
    """ "5 hours a scarf, 40 hours: how many scarves?": two amounts of the same measure make a ratio."""
    one, other = (problem.links.mention(part) for part in core.parts)
    if one and other and one.thing == other.thing != thing and is_measure(one.thing) and not one.factor | other.factor:
        if not asks_for(problem.question.asked, "area"):
            yield f"{one.value:g} and {other.value:g} {one.thing} are multiplied, and {thing} are asked for"


def _core(problem: Understood) -> Term | None:
    term = problem.result
    while term is not None and term.operation in ("int", "round", "ceil", "floor", "float"):
        term = term.parts[0]
    return term


def unit_asked(problem: Understood) -> Found:
    """The answer is in the unit that is asked for."""
    asked = problem.question.thing
    if problem.result is None or not is_measure(asked) or problem.links.known:
        return
    found = problem.thing_of(problem.result)
    if found and found != asked and convertible(found, asked):
        yield f"{asked} are asked for, and the code comes to {found}"
    for term in problem.terms:
        if term.operation == "*":
            yield from _rate_over_other_time(term, problem)


def rate_time(problem: Understood) -> Found:
    """3 cups a day for 2 weeks: the weeks have to be days first."""
    if problem.links.known:
        return
    for term in problem.terms:
        if term.operation == "*":
            yield from _rate_over_other_time(term, problem)


def _rate_over_other_time(term: Term, problem: Understood) -> Found:
    for rate, other in (term.parts, term.parts[::-1]):
        mention, times = problem.links.mention(rate), problem.links.mention(other)
        if mention is None or times is None or not mention.rate:
            continue
        if (
            mention.per != times.thing
            and convertible(mention.per, times.thing)
            and math.isclose(other.value, times.value)
        ):
            yield f"{mention.value:g} {mention.thing} a {mention.per} are multiplied by {times.value:g} {times.thing}"


def pairs(problem: Understood) -> Found:
    """A price for adults is multiplied by the adults."""
    for term in problem.terms:
        if term.operation != "*":
            continue
        for rate, other in (term.parts, term.parts[::-1]):
            mention, count = problem.links.mention(rate), problem.links.mention(other)
            if mention is None or count is None or not mention.rate or not mention.per or count.thing == mention.per:
                continue
            meant = next((one for one in problem.question.mentions if one.thing == mention.per and not one.rate), None)
            if (
                meant
                and count.thing
                and meant is not count
                and meant.value != count.value
                and not is_measure(mention.per)
            ):
                yield f"{mention.value:g} {mention.thing} are for each {mention.per}, and the code takes the {count.value:g} {count.thing}"


def years(problem: Understood) -> Found:
    asked = problem.question.asked
    for one in problem.used:
        if one.sentence == problem.question.asking and one.thing == "year":
            signs = problem.signs.get(id(one), set())
            if _AGO.search(asked) and signs == {1} or _LATER.search(asked) and signs == {-1}:
                yield f"the {one.value:g} years go into the code the other way round"


def sharers(problem: Understood) -> Found:
    """ "shares with 2 friends, so that all three have the same"."""
    for term in problem.terms:
        mention = problem.links.mention(term.parts[1]) if term.operation in ("/", "//") else None
        if mention is None or term.parts[1].value != mention.value:
            continue
        together = any(one.value == mention.value + 1 and one.incidental for one in problem.question.mentions)
        if together and f"with {mention.value:g} " in problem.question.text:
            yield f"{mention.value + 1:g} share, and the code divides by {mention.value:g}"


def negative(problem: Understood) -> Found:
    """Below nothing because the smaller number, which the text gives first, is taken from the larger."""
    if problem.result is None or problem.result.value >= 0 or problem.result.operation != "-":
        return
    left, right = (problem.links.mention(part) for part in problem.result.parts)
    if left and right and left.start > right.start and happens(right.clause) >= 0:
        yield "the code takes the larger number from the smaller one, the other way round than the text tells it"
