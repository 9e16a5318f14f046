"""Where the numbers of the code come from: a number of the text, a conversion, or nowhere."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from services.recipes.mathwell.criteria.question import Mention, Question
from services.recipes.mathwell.criteria.words import CONVERSIONS, IMPLIED, UNITS, stems
from services.recipes.mathwell.criteria.working import Term

_PEOPLE = re.compile(r"\b(?:friend|brother|sister|cousin|classmate|sibling|neighbor|helper|teammate|other)s?\b", re.I)
_FRACTION = re.compile(r"(\d+)\s?/\s?(\d+)")
_PARTS_OF_NAME = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    # The mention that a number of the code is taken from, by the number's identity.
    sources: dict[int, Mention]
    # Numbers that are known without being told: conversions, corners of a square, how many are averaged.
    known: Sequence[Term]
    # Numbers that come from nowhere.
    invented: Sequence[Term]
    # Mentions that no number of the code is taken from.
    unused: Sequence[Mention]

    def mention(self, term: Term) -> Mention | None:
        return self.sources.get(id(term))


def linked(question: Question, root: Term) -> Links:
    sources: dict[int, Mention] = {}
    known: list[Term] = []
    left = root.numbers
    for find in (_said, _derived):
        for term in list(left):
            if (mention := find(term, question.mentions, sources)) is not None:
                sources[id(term)] = mention
                left.remove(term)
    for term in list(left):
        if _is_known(term, question, root):
            known.append(term)
            left.remove(term)
    used = {id(mention) for mention in sources.values()}
    unused = [one for one in question.mentions if id(one) not in used and not one.incidental]
    return Links(sources=sources, known=known, invented=left, unused=unused)


def _said(term: Term, mentions: Sequence[Mention], sources: dict[int, Mention]) -> Mention | None:
    """A mention of the very value that no other number of the code is taken from, if possible one of its name."""
    taken = {id(mention) for mention in sources.values()}
    same = [one for one in mentions if _is(one.value, term.value) and id(one) not in taken]
    return max(same, key=lambda one: (_alike(term, one), not one.incidental), default=None)


def _alike(term: Term, mention: Mention) -> int:
    return len(stems(" ".join(_PARTS_OF_NAME.findall(term.name))) & (stems(mention.clause) | {mention.thing}))


def _derived(term: Term, mentions: Sequence[Mention], sources: dict[int, Mention]) -> Mention | None:
    """A mention in another form: 0.75 for "25 % off", 30 for "half an hour", 3 for "he and his 2 friends"."""
    return next((one for one in mentions if any(_is(form, term.value) for form in _forms(one))), None)


def _forms(mention: Mention) -> list[float]:
    value = mention.value
    forms = [100 * value, 1 - value, 1 + value, 100 - 100 * value, 100 + 100 * value] if mention.share else []
    forms += [factor * value for units, factor in CONVERSIONS.items() if mention.thing == units[0]]
    forms += [value / factor for units, factor in CONVERSIONS.items() if mention.thing == units[1]]
    if mention.share and value:
        # "2/3" and "two thirds" may be written with both of their numbers.
        exact = Fraction(value).limit_denominator(100)
        forms += [1 / value, float(exact.numerator), float(exact.denominator)]
    if not value % 12:
        # "5 dozen"
        forms += [12.0, value / 12]
    return forms + ([value + 1] if _PEOPLE.search(mention.clause) else [])


def _is_known(term: Term, question: Question, root: Term) -> bool:
    value = term.value
    if value == 0 or (value == 1 and not _is_factor(term, root)):
        return True
    if any(_is(value, number) for word, numbers in IMPLIED.items() if word in question.words for number in numbers):
        return True
    if any(str(int(value)) in fraction for fraction in _FRACTION.findall(question.text) if value.is_integer()):
        return True
    for (one, other), factor in CONVERSIONS.items():
        if (
            (_is(value, factor) or _is(value, 1 / factor))
            and one in question.words
            and (not other or other in question.words)
        ):
            return True
    return _counts_addends(term, root)


def _is_factor(term: Term, root: Term) -> bool:
    return any(above.operation == "*" and any(part is term for part in above.parts) for above in root.walk())


def _counts_addends(term: Term, root: Term) -> bool:
    """The divisor of an average."""
    for above in root.walk():
        if above.operation in ("/", "//") and above.parts[1] is term:
            return term.value == _addends(above.parts[0])
    return False


def _addends(term: Term) -> int:
    return sum(_addends(part) for part in term.parts) if term.operation == "+" else 1


def missing_conversion(term: Term, question: Question) -> tuple[str, str, float] | None:
    """Of an invented number that stands where two units of the text call for a conversion: the units and their factor."""
    units = [unit for unit in UNITS if unit in question.words]
    pairs = ((one, other, CONVERSIONS.get((one, other))) for one in units for other in units)
    found = [(one, other, factor) for one, other, factor in pairs if factor is not None]
    named = [pair for pair in found if pair[0] in (question.thing,) or pair[1] in (question.thing,)]
    return next(iter(named or found), None) if term.value not in (0, 1) else None


def _is(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)


Find = Callable[[Term, Sequence[Mention], dict[int, Mention]], Mention | None]
