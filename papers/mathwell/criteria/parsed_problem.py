"""A parsed word problem: the numbers of its question, the steps of its code, and which of them belong together."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isclose

from soliloquy.programs.terms import DECIDED, CannotTrace, Term
from soliloquy.programs.tracing import trace_solution
from soliloquy.truth.numbers import numbers_in
from soliloquy_papers.mathwell.criteria.verdicts import WordProblem
from soliloquy_papers.mathwell.criteria.words import CONVERSIONS, IMPLIED, counted_thing, sentences_of, stems

# Longer texts are not word problems for children.
MOST_CHARACTERS = 1_500
# Functions that keep the meaning of a number.
_SAME = ("int", "float", "round", "ceil", "floor", "abs")
_ASKS = re.compile(
    r"\b(?:how (?:many|much|far|long|old|tall|fast|often|high|wide|deep|heavy|big|large|warm|cold|hot|late|soon)"
    r"|what|which|when|who|find|give|calculate|determine|work out|compute|count|figure out|add up)\b.*",
    re.IGNORECASE | re.DOTALL,
)
# Dates, ranks and times of day.
_NO_AMOUNT = re.compile(r"(?:st|nd|rd|th)\b|\s?(?:a\.?m\.?|p\.?m\.?|o['’]clock)|:\d\d")
_NAMES_SOMETHING = re.compile(
    r"\b(?:the|all|these|other|grades?|room|number|no\.|chapter|level|page|day|week|step|question|lesson) *$", re.I
)
_PERCENT = re.compile(r"\s*(?:%|per ?cent\b)")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Mention:
    """A number of the text."""

    value: float
    # The counted thing or the unit, in the singular; empty if unknown.
    thing: str
    is_percentage: bool
    # Perhaps not a quantity, such as "one" and "the two".
    is_incidental: bool
    sentence: str
    start: int
    end: int

    @property
    def forms(self) -> Iterator[float]:
        """Yields the values that code may have for it, such as 0.75 for "25 % off"."""
        yield self.value
        if self.is_percentage or 0 < self.value < 1:
            share = self.value / 100 if self.is_percentage else self.value
            exact = Fraction(share).limit_denominator(100)
            yield from (share, 1 - share, 1 + share, 100 * share, 100 - 100 * share, 100 + 100 * share)
            yield from (float(exact.numerator), float(exact.denominator))


@dataclass(frozen=True, kw_only=True)
class ParsedProblem:
    problem: WordProblem
    mentions: Sequence[Mention]
    # The asking part of the question, in lower case; empty if the text asks nothing.
    asked: str
    # The derivation of the result and of the conditions; None if the code cannot be traced.
    whole: Term | None
    unfollowed: str

    @cached_property
    def result(self) -> Term | None:
        """The returned number, without the terms that decided conditions."""
        return self.whole.parts[0] if self.whole and self.whole.operation == DECIDED else self.whole

    @property
    def answer(self) -> float | None:
        """The traced result, or that of the execution."""
        return self.problem.answer if self.result is None else self.result.value

    @cached_property
    def thing(self) -> str:
        """The requested thing, in the singular; empty if unknown."""
        return counted_thing(self.asked.removeprefix("how many")) if self.asked.startswith("how many") else ""

    @cached_property
    def words(self) -> frozenset[str]:
        return stems(self.problem.question) | ({"%"} if "%" in self.problem.question else set())

    @cached_property
    def terms(self) -> Sequence[Term]:
        return list(self.whole.walk()) if self.whole else []

    @cached_property
    def operations(self) -> frozenset[str]:
        return frozenset(term.operation for term in self.terms).difference(_SAME, (DECIDED, ""))

    @cached_property
    def sources(self) -> Mapping[int, Mention]:
        """The number of the text that each number of the code is, by the identity of its term."""
        found: dict[int, Mention] = {}
        for term in self.whole.numbers if self.whole else ():
            fitting = [one for one in self.mentions if any(is_same(form, term.value) for form in one.forms)]
            untaken = [one for one in fitting if not any(one is taken for taken in found.values())]
            if fitting:
                found[id(term)] = (untaken or fitting)[0]
        return found

    @cached_property
    def unused(self) -> Sequence[Mention]:
        """The numbers of the text that the code does without."""
        used = {id(one) for one in self.sources.values()}
        return [one for one in self.mentions if id(one) not in used and not one.is_incidental]

    @cached_property
    def invented(self) -> Sequence[Term]:
        """The numbers of the code that are neither in the text nor follow from its words."""
        numbers = self.whole.numbers if self.whole else ()
        return [one for one in numbers if id(one) not in self.sources and not self._is_known(one.value)]

    def _is_known(self, value: float) -> bool:
        implied = (number for word, numbers in IMPLIED.items() if word in self.words for number in numbers)
        converted = (
            factor
            for units, amount in CONVERSIONS.items()
            for factor in (amount, 1 / amount)
            if self.words.issuperset(filter(None, units))
        )
        return value in (0, 1) or any(is_same(value, number) for number in (*implied, *converted))


def is_same(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)


def parse_problem(problem: WordProblem, variable: str = "") -> ParsedProblem:
    """Reads a problem with its function, or with a program whose result is a variable."""
    try:
        whole, unfollowed = trace_solution(problem.code, variable), ""
    except CannotTrace as error:
        whole, unfollowed = None, str(error)
    mentions, asked = _read(problem.question[:MOST_CHARACTERS])
    return ParsedProblem(problem=problem, mentions=mentions, asked=asked, whole=whole, unfollowed=unfollowed)


@lru_cache(256)
def _read(text: str) -> tuple[Sequence[Mention], str]:
    """Returns the numbers of a question, and its asking part."""
    sentences = sentences_of(text)
    asking = [one for one in sentences if one.rstrip("\"'”").endswith("?")] or sentences[-1:]
    asked = _ASKS.search(asking[-1])
    return [*_mentions(text)], asked[0].lower() if asked else ""


def _mentions(text: str) -> Iterator[Mention]:
    sentences, at = sentences_of(text), 0
    ends = [at := text.index(sentence, at) + len(sentence) for sentence in sentences]
    for number in numbers_in(text):
        # "$20 a month": the article is not part of the number.
        end = number.start + len(re.sub(r"(?<=\d)\s+(?:of\s+)?an?$", "", text[number.start : number.end]))
        if _NO_AMOUNT.match(text, end):
            continue
        before, place = text[: number.start], next(at for at, last in enumerate(ends) if number.start < last)
        named = number.spelled and _NAMES_SOMETHING.search(before) is not None
        yield Mention(
            value=number.value,
            thing="dollar" if re.search(r"[$€£]\s*$", before) else counted_thing(text[end : ends[place]]),
            is_percentage=_PERCENT.match(text, end) is not None,
            is_incidental=number.value == 1 or named,
            sentence=sentences[place],
            start=number.start,
            end=end,
        )
