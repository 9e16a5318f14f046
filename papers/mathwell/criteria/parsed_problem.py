"""A parsed word problem: its question, its calculation, and the links between them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from soliloquy.programs.terms import DECIDED, CannotTrace, Term
from soliloquy.programs.tracing import trace_solution
from soliloquy_papers.mathwell.criteria.links import Links, link_numbers
from soliloquy_papers.mathwell.criteria.mentions import Mention
from soliloquy_papers.mathwell.criteria.question import MOST_CHARACTERS, Question, parse_question
from soliloquy_papers.mathwell.criteria.verdicts import WordProblem
from soliloquy_papers.mathwell.criteria.words import UNITS

# The objections of a rule, one sentence each.
Objections = Iterator[str]
# Functions that keep the meaning of a number.
_SAME = ("int", "float", "round", "ceil", "floor", "abs")


@dataclass(frozen=True, kw_only=True)
class ParsedProblem:
    problem: WordProblem
    question: Question
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
    def links(self) -> Links:
        assert self.whole is not None
        return link_numbers(self.question, self.whole)

    @cached_property
    def operations(self) -> frozenset[str]:
        return frozenset(self.whole.operations).difference(_SAME, (DECIDED,)) if self.whole else frozenset()

    @cached_property
    def terms(self) -> list[Term]:
        return list(self.whole.walk()) if self.whole else []

    def steps(self, *operations: str) -> Iterator[Term]:
        """Yields the terms that come from one of these operations."""
        return (term for term in self.terms if term.operation in operations)

    @cached_property
    def used(self) -> list[Mention]:
        return list({id(one): one for one in self.links.sources.values()}.values())

    def takes_away(self) -> bool:
        """Whether the code subtracts, including 0.75 of the price for 25 % off."""
        if not self.operations.isdisjoint(("-", "%")):
            return True
        return any(
            mention.share and not mention.value - 1e-9 <= term.value <= mention.value + 1e-9 and term.value < 1
            for term in self.terms
            if (mention := self.links.mention(term)) is not None
        )

    def thing_of(self, term: Term) -> str:
        """Returns the thing that a term counts; empty if unknown."""
        if not term.operation:
            mention = self.links.mention(term)
            return "" if mention is None or mention.share or mention.factor else mention.thing
        if term.operation in ("+", "-", "max", "min", *_SAME):
            things = {thing for part in term.parts if (thing := self.thing_of(part))}
            return things.pop() if len(things) == 1 else ""
        if term.operation == "*":
            return self._thing_of_product(term)
        return ""

    def _thing_of_product(self, term: Term) -> str:
        left, right = term.parts
        unknown = [part for part in term.parts if not part.operation and self.links.mention(part) is None]
        if any(part.value not in (0, 1) for part in unknown):
            return ""
        rates = [part for part in (left, right) if self.is_rate(part)]
        if len(rates) == 1:
            return self.thing_of(rates[0])
        one, other = self.thing_of(left), self.thing_of(right)
        # The product of two lengths is an area.
        return "" if one == other else one or other if not (one and other) else ""

    def is_rate(self, term: Term) -> bool:
        mention = self.links.mention(term)
        if mention is not None:
            return mention.rate
        return term.operation in ("+", "-") and any(self.is_rate(part) for part in term.parts)

    def is_count(self, term: Term) -> bool:
        """Whether a term is a number of the text that is an amount rather than a rate, factor or share."""
        mention = self.links.mention(term)
        return mention is not None and not (mention.rate or mention.factor or mention.share)


def parse_problem(problem: WordProblem) -> ParsedProblem:
    try:
        whole, unfollowed = trace_solution(problem.code), ""
    except CannotTrace as error:
        whole, unfollowed = None, str(error)
    return ParsedProblem(
        problem=problem, question=parse_question(problem.question[:MOST_CHARACTERS]), whole=whole, unfollowed=unfollowed
    )


def is_measure(thing: str) -> bool:
    return thing in UNITS
