"""Finds where each number of a solution comes from: its question, an earlier result, or a constant with its role.

A solution is walked in its order. What a calculation that holds comes to is known behind it; a number in a calculation
that nothing gives is a fault, and any other number or sign that is not understood is open.
"""

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from soliloquy.truth.arithmetic_policy import KNOWN, LIMITS, TOLERANCES
from soliloquy.truth.arithmetic_terms import measured_number
from soliloquy.truth.calculations import Calculation, calculations_of
from soliloquy.truth.known_numbers import KnownNumbers, Source
from soliloquy.truth.measured_values import Measured, agree, place_of, stated_value
from soliloquy.truth.number_format import format_number
from soliloquy.truth.programs import program_result
from soliloquy.truth.units import Unit
from soliloquy.truth.unknowns import comparisons_in
from soliloquy.truth.written_arithmetic import ROUGHLY, tokens_of
from soliloquy.truth.written_numbers import Written
from soliloquy.v1.conversation_pb2 import Problem

# The characters before and behind an open number that are shown with it.
_AROUND = 16
# A whole number up to this one may count things that the question lists.
_SMALL_COUNT = 7
_EXPONENTS = frozenset([2, 3, 4, 0.5])
_ALWAYS = frozenset([0, 1, 2, 0.5])
_COMPARES: Mapping[str, Callable[[float, float], bool]] = {"<": operator.lt, ">": operator.gt}
_SIGNS = frozenset(["=", *ROUGHLY])
_CONCLUDES = re.compile(r"\banswer|\bresult|\\boxed|\btotal|\bso\b|\bhence\b|\bthus\b|\btherefore\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Operand:
    value: float
    unit: Unit | None
    start: int
    end: int
    # None if nothing gives the number.
    source: Source | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A calculation that holds, with the source of each of its numbers."""

    calculation: Calculation
    operands: Sequence[Operand]


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Where the numbers of a solution come from."""

    steps: Sequence[Step]
    # What calculations, equations or the program come to.
    results: Sequence[float]
    # How many numbers the solution has, and the bits that are not understood, in order.
    numbers: int
    open: Sequence[str]
    # What is certainly wrong, in words.
    faults: Sequence[str]

    def gives(self, value: float) -> bool:
        return any(
            abs(value - result) <= max(min(place_of(value), place_of(result)) / 2, abs(result) * TOLERANCES.exact)
            for result in self.results
        )


def provenance_of(problem: Problem) -> Provenance:
    # Steps that were read from prose are no further evidence for it.
    worked = [] if problem.read_plan else [step for step in problem.steps if step.expression]
    inputs = tuple(own.value for step in worked for own in step.inputs)
    # The steps are those of the explanation that a problem came with, not of one that a model wrote for it.
    brought = "" if problem.enrichment.calls else problem.enrichment.detailed_solution
    answer = problem.answer.value if problem.HasField("answer") else None
    results = tuple(step.result.value for step in worked)
    return _provenance(problem.question, brought or problem.solution, inputs, results, answer)


@lru_cache(1024)
def _provenance(
    question: str, solution: str, inputs: Sequence[float], worked: Sequence[float], answer: float | None
) -> Provenance:
    known = KnownNumbers(question, solution)
    own = {*worked}
    returned = program_result(solution)
    literals = [*inputs, *(_literals(solution) if returned is not None else ())]
    unknown = [
        number for number in literals if number not in own and not _is_small(number) and not known.sources(stated_value(number))
    ]
    if returned is not None or unknown:
        results = () if returned is None else (*worked, returned)
        return Provenance(
            steps=(), results=results, numbers=len(literals), open=[f"{number:g}" for number in unknown], faults=()
        )
    for number in (*inputs, *worked):
        known.learn_number(number, Source(kind="result", value=number))
    return _Walk(question=question, solution=solution, known=known, answer=answer, results=[*worked]).provenance()


def _literals(program: str) -> list[float]:
    with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
        tree = ast.parse(program)
    nodes = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [float(value) for value in nodes if isinstance(value, int | float)]


def _is_small(number: float) -> bool:
    return number in KNOWN.counts


@dataclass(kw_only=True)
class _Walk:
    question: str
    solution: str
    known: KnownNumbers
    answer: float | None
    results: list[float]
    # By the number that a calculation comes to, until another one uses it.
    unused: dict[float, int] = field(default_factory=dict)
    open: list[tuple[int, str]] = field(default_factory=list)
    nowhere: list[tuple[int, Written]] = field(default_factory=list)
    used: set[float] = field(default_factory=set)
    terms: set[int] = field(default_factory=set)
    numbers: int = 0

    def provenance(self) -> Provenance:
        solution = self.solution
        tokens = [token for token in tokens_of(solution) if token.kind == "break" or token.text.strip()]
        links = [link for link in calculations_of(solution) if link.right]
        uses: list[int | None] = [None] * (len(solution) + 1)
        gives: list[int | None] = [None] * (len(solution) + 1)
        for number, link in enumerate(links):
            uses[link.start : link.stated_at] = [number] * (link.stated_at - link.start)
            gives[link.stated_at : link.end] = [number] * (link.end - link.stated_at)
            self.terms.add(link.expression.count(" + ") + 1)
        equations = self._equations()
        operands: list[list[Operand]] = [[] for _ in links]
        final: list[Written] = []
        for place, token in enumerate(tokens):
            at = token.start
            use, give, equation = uses[at], gives[at], equations.get(at)
            if token.kind != "number":
                is_loose = use is None and give is None and equation is None
                if not self._is_understood(tokens, place, is_loose=is_loose):
                    self._leave_open(token)
                continue
            self.numbers += 1
            sources = self.known.sources(measured_number(token))
            if use is not None:
                source = self._operand(tokens, place, sources, use, is_given=give is None)
                operands[use].append(
                    Operand(value=token.value, unit=token.unit, start=at, end=token.end, source=source)
                )
            if give is not None:
                self.known.learn(token, Source(kind="result", value=token.value, unit=token.unit, calculation=give))
                self.results.append(token.value)
                if token.end == links[give].end:
                    self.unused[token.value] = give
            elif use is None:
                if equation:
                    self.known.learn(token, Source(kind="result", value=token.value, unit=token.unit))
                    self.results.append(token.value)
                elif not sources and not self._is_form(tokens, place, is_statement=equation is None):
                    self._leave_open(token)
                    self.known.learn(token, Source(kind="statement", value=token.value, unit=token.unit))
                if equation is None and links and at >= links[-1].end:
                    final.append(token)
                else:
                    self._mark_used(sources)
        faults = [*self._nowhere_faults(links), *self._conclusion(links, final)]
        steps = [Step(calculation=link, operands=own) for link, own in zip(links, operands, strict=True)]
        return Provenance(
            steps=steps,
            results=self.results,
            numbers=self.numbers,
            open=[bit for _, bit in sorted(self.open)],
            faults=faults,
        )

    def _equations(self) -> dict[int, bool]:
        """Returns for each place in an equation whether what it states follows."""
        offset = len(self.question) + 1
        found = {}
        for one in comparisons_in(f"{self.question}\n{self.solution}"):
            if one.holds is not False:
                found |= dict.fromkeys(range(one.after.start - offset, one.after.end - offset), bool(one.holds))
        return found

    def _operand(
        self, tokens: Sequence[Written], place: int, sources: Sequence[Source], link: int, *, is_given: bool
    ) -> Source | None:
        token = tokens[place]
        self._mark_used(sources)
        if sources:
            return sources[0]
        if self._is_form(tokens, place, is_statement=False):
            return Source(kind="form", value=token.value)
        if is_given:
            self.nowhere.append((link, token))
            self.known.learn(token, Source(kind="statement", value=token.value, unit=token.unit))
        return None

    def _mark_used(self, sources: Sequence[Source]) -> None:
        for source in sources:
            self.used.add(source.value)
            self.unused.pop(source.value, None)

    def _is_form(self, tokens: Sequence[Written], place: int, *, is_statement: bool) -> bool:
        """Whether a number belongs to the form of a calculation, and needs no source."""
        token = tokens[place]
        before, behind = (tokens[at] if 0 <= at < len(tokens) else None for at in (place - 1, place + 1))
        value = abs(token.value * token.scale)
        if token.text[0].isalpha() and any(math.isclose(value, part) for part in KNOWN.parts):
            return True
        if not is_statement:
            is_power = before is not None and before.text == "^" and value in _EXPONENTS
            return value in _ALWAYS or is_power or value in self.terms
        goes_on = behind is not None and (
            behind.kind in ("operator", "function", "open")
            or behind.value == math.pi
            or (behind.kind == "word" and len(behind.text) < LIMITS.shortest_noun)
        )
        return value in KNOWN.counts and (before is None or before.kind != "equals" or goes_on)

    def _leave_open(self, token: Written) -> None:
        self.open.append((token.start, _bit(self.solution, token)))

    def _is_understood(self, tokens: Sequence[Written], place: int, *, is_loose: bool) -> bool:
        token = tokens[place]
        before, behind = (tokens[at] if 0 <= at < len(tokens) else None for at in (place - 1, place + 1))
        match token.kind:
            case "equals" if token.text in _SIGNS and is_loose and behind and behind.kind != "word":
                return not _is_arithmetic(tokens, place)
            case "break":
                return _is_harmless(token, before, behind)
            case "factorial":
                return not is_loose
            case "word" if token.text.lower() in KNOWN.changes:
                return not is_loose or not (behind and behind.kind in ("number", "open"))
        return True

    def _nowhere_faults(self, links: Sequence[Calculation]) -> Iterator[str]:
        for number, token in self.nowhere:
            link = links[number]
            said = " ".join(link.text.split())
            told = f"{said!r} uses {format_number(token.value)}, which neither the question nor an earlier step gives"
            earlier = [(at, value) for value, at in self.unused.items() if at < number]
            if earlier:
                at, value = max(earlier)
                yield f"{told}; {' '.join(links[at].text.split())!r} came to {format_number(value)}"
                continue
            if token.value % 1 == 0 and abs(token.value) <= _SMALL_COUNT:
                self._leave_open(token)
                continue
            unread = [one.value for one in self.known.given() if one.value not in self.used]
            near = min(unread, key=lambda one: abs(one - token.value), default=None)
            yield told if near is None else f"{told}; the question has {format_number(near)}"

    def _conclusion(self, links: Sequence[Calculation], final: Sequence[Written]) -> Iterator[str]:
        """Says what a solution concludes if that is not what its last calculation comes to."""
        if not links:
            return
        last = links[-1].stated
        if last not in self.unused:
            return
        stated = [token for token in final if token.value not in KNOWN.counts] or final
        if not stated or any(_is_result(measured_number(token), last) for token in final):
            return
        told = stated[-1]
        sources = self.known.sources(measured_number(told))
        if told.value in self.unused:
            return
        yield (
            f"{_bit(self.solution, told)!r} concludes {format_number(told.value)}, but the last calculation, "
            f"{' '.join(links[-1].text.split())!r}, comes to {format_number(last)}"
        )


def _is_result(value: Measured, result: float) -> bool:
    number = abs(value.number)
    rounded = agree(stated_value(result), value, about=False) or number in (math.ceil(abs(result)), math.floor(abs(result)))
    share = value.percent and value.si is not None and math.isclose(value.si, result, rel_tol=TOLERANCES.solution)
    return rounded or share


def _bit(text: str, token: Written) -> str:
    """Returns the token with the words around it."""
    start = text.rfind(" ", 0, max(0, token.start - _AROUND)) + 1 if token.start > _AROUND else 0
    end = text.find(" ", token.end + _AROUND)
    return " ".join(text[start : end if end > 0 else len(text)].split())


def _is_arithmetic(tokens: Sequence[Written], end: int) -> bool:
    """Whether what stands before an equals sign is a calculation of numbers, and no formula with symbols."""
    side: list[Written] = []
    while end > 0 and (token := tokens[end - 1]).kind not in ("word", "break", "equals"):
        side.append(token)
        end -= 1
    opened = sum(token.kind == "open" for token in side) - sum(token.kind == "close" for token in side)
    return bool(side) and side[-1].kind not in ("operator", "raised", "factorial") and opened == 0


def _is_harmless(token: Written, before: Written | None, behind: Written | None) -> bool:
    is_number = before is not None and before.kind in ("number", "close")
    if token.text == ":" and is_number and behind and behind.kind in ("number", "open"):
        # "8 : 2", and not "after 20 years: 30 - 20".
        return before is not None and before.end == token.start and token.end < behind.start
    if token.text in _COMPARES and before and behind and before.kind == behind.kind == "number":
        return _COMPARES[token.text](before.value, behind.value)
    if token.text == "|":
        # The bar of a table, and not that of an absolute value.
        beside = [one for one in (before, behind) if one and one.kind in ("number", "operator", "open", "close")]
        return all(one.end < token.start or one.start > token.end for one in beside)
    if not token.text.strip() or token.text[0] in KNOWN.punctuation or token.text[-1:].isdigit():
        return True
    return not any(one and one.kind in ("number", "operator", "equals") for one in (before, behind))
