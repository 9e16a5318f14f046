"""Links the numbers of the code to their sources: a number of the text, a conversion, or none."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from soliloquy.programs.terms import Term
from soliloquy_papers.mathwell.criteria.mentions import Mention
from soliloquy_papers.mathwell.criteria.question import Question
from soliloquy_papers.mathwell.criteria.words import CONVERSIONS, IMPLIED, UNITS, stems

_PEOPLE = re.compile(r"\b(?:friend|brother|sister|cousin|classmate|sibling|neighbor|helper|teammate|other)s?\b", re.I)
_FRACTION = re.compile(r"(\d+)\s?/\s?(\d+)")
_PARTS_OF_NAME = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    # The source of each number of the code, by the identity of its term.
    sources: dict[int, Mention]
    # Numbers that need no mention: conversions, the sides of a square, the divisor of an average.
    known: Sequence[Term]
    # Numbers without a source.
    invented: Sequence[Term]
    # Mentions that the code does not use.
    unused: Sequence[Mention]

    def mention(self, term: Term) -> Mention | None:
        return self.sources.get(id(term))


def link_numbers(question: Question, root: Term) -> Links:
    sources: dict[int, Mention] = {}
    known: list[Term] = []
    left = root.numbers
    for find in (_exact_mention, _derived):
        for term in list(left):
            if (mention := find(term, question, sources)) is not None:
                sources[id(term)] = mention
                left.remove(term)
    for term in list(left):
        if _is_known(term, question, root):
            known.append(term)
            left.remove(term)
    used = {id(mention) for mention in sources.values()}
    unused = [one for one in question.mentions if id(one) not in used and not one.incidental]
    return Links(sources=sources, known=known, invented=left, unused=unused)


def _exact_mention(term: Term, question: Question, sources: dict[int, Mention]) -> Mention | None:
    """Returns an unused mention with the exact value, preferably one that shares words with the variable."""
    taken = {id(mention) for mention in sources.values()}
    same = [one for one in question.mentions if _is(one.value, term.value) and id(one) not in taken]
    fitting = [one for one in same if not _of_other_unit(term, one)]
    return max(fitting, key=lambda one: (_alike(term, one), not one.incidental), default=None)


def _words_of_name(term: Term) -> frozenset[str]:
    return stems(" ".join(_PARTS_OF_NAME.findall(term.name)))


def _alike(term: Term, mention: Mention) -> int:
    return len(_words_of_name(term) & (stems(mention.clause) | {mention.thing}))


def _of_other_unit(term: Term, mention: Mention) -> bool:
    """Whether the units differ: "hours = 2" does not come from "2 cars"."""
    # "second" is an ordinal more often than a unit.
    units = _words_of_name(term) & UNITS - {"second", "quarter"}
    return bool(units and mention.thing) and not units & (stems(mention.clause) | {mention.thing, mention.per})


def _derived(term: Term, question: Question, sources: dict[int, Mention]) -> Mention | None:
    """Returns a mention in another form: 0.75 for "25 % off", 30 for "half an hour", 3 for "he and his 2 friends"."""
    found = (one for one in question.mentions if any(_is(form, term.value) for form in _forms(one, question)))
    return next(found, None)


def _forms(mention: Mention, question: Question) -> list[float]:
    value, units = mention.value, question.words | {question.thing}
    forms = [100 * value, 1 - value, 1 + value, 100 - 100 * value, 100 + 100 * value] if mention.share else []
    for (larger, smaller), factor in CONVERSIONS.items():
        if mention.thing == larger and smaller in units:
            forms.append(factor * value)
        if mention.thing == smaller and larger in units | {"dollar"}:
            forms.append(value / factor)
    if mention.share and value:
        # The code may use both numbers of "2/3" and "two thirds".
        exact = Fraction(value).limit_denominator(100)
        forms += [1 / value, float(exact.numerator), float(exact.denominator)]
    if "dozen" in question.words and not value % 12:
        forms += [12.0, value / 12]
    return forms + ([value + 1] if _PEOPLE.search(mention.clause) else [])


def _is_known(term: Term, question: Question, root: Term) -> bool:
    value = term.value
    if value == 0 or (value == 1 and not _is_operand(term, root, "*")):
        return True
    if any(_is(value, number) for word, numbers in IMPLIED.items() if word in question.words for number in numbers):
        return True
    if any(str(int(value)) in fraction for fraction in _FRACTION.findall(question.text) if value.is_integer()):
        return True
    for (one, other), factor in CONVERSIONS.items():
        converts = _is(value, factor) or _is(value, 1 / factor)
        if converts and one in question.words and (not other or other in question.words):
            return True
    # Halving, to find two numbers from their sum and difference.
    halved = value == 2 and any(one.compared for one in question.mentions)
    if halved and re.search(r"\b(?:together|sum|total)\b", question.text):
        return True
    return _counts_addends(term, root)


def _is_operand(term: Term, root: Term, *operations: str) -> bool:
    return any(above.operation in operations and term in above.parts for above in root.walk())


def _counts_addends(term: Term, root: Term) -> bool:
    """Whether a term is the divisor of an average."""
    for above in root.walk():
        if above.operation in ("/", "//") and above.parts[1] is term:
            return term.value == above.parts[0].addends
    return False


def misreading(term: Term, question: Question, links: Links, root: Term) -> str:
    """Returns how the code misreads the text where it invents a number; empty if the number stands for nothing."""
    for one in links.unused:
        told, taken = sorted(f"{one.value:g}"), sorted(f"{term.value:g}")
        named = one.thing and one.thing in stems(term.name.replace("_", " "))
        if (len(told) > 1 and told == taken) or named:
            return f"the code takes {term.value:g} where the text says {one.value:g}"
    if not _is_operand(term, root, "*", "/", "//"):
        return ""
    things = {one.thing for one in links.sources.values()} | {one.per for one in links.sources.values()}
    for (larger, smaller), factor in CONVERSIONS.items():
        wanted = (question.thing == larger and smaller in things) or (question.thing == smaller and larger in things)
        done = any(_is(known.value, factor) or _is(known.value, 1 / factor) for known in links.known)
        if wanted and smaller and not done:
            return f"the code converts by {term.value:g}; one {larger} has {factor:g} of a {smaller}"
    return ""


def _is(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)
