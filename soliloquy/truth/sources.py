"""Finds where each number of a solution comes from: its question, an earlier result, or a constant with its role.

A solution is walked in its order. What a calculation that holds comes to is known behind it; a number in a calculation
that nothing gives is a fault, and any other number or sign that is not understood is open.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from soliloquy.programs.operations import calculates, numbers_in
from soliloquy.programs.results import program_result
from soliloquy.truth.arithmetic_policy import COUNTS, EXACT, PARTS, SHORTEST_NOUN, SOLUTION
from soliloquy.truth.calculations import Calculation, calculations_of, results_in, without_words
from soliloquy.truth.known_numbers import KnownNumbers, Source, mixed_quantities
from soliloquy.truth.measured_values import Measured, agree, measured_number, place_of, stated_value
from soliloquy.truth.number_format import format_number
from soliloquy.truth.result_units import asked_kinds, asks_several, contradicts, is_another
from soliloquy.truth.unknowns import solved_equations
from soliloquy.truth.written_arithmetic import Written, tokens_of
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Problem

# The characters before and behind an open number that are shown with it.
_AROUND = 16
# A whole number up to this one may count things that the question lists.
_SMALL_COUNT = 7
_EXPONENTS = frozenset([2, 3, 4, 0.5])
_ALWAYS = frozenset([0, 1, 2, 0.5])
_TIME = "s^1"
_CLOCK = re.compile(r"\d:\d\d")
_ANSWERS = re.compile(r"\banswer|\\boxed", re.IGNORECASE)
_PUNCTUATION = ".,;:?!\"'`()[]{}…–—→⇒⟹∴✓✔☑“”‘’«»„•_#&|\\"
_FIRST_OF_DIGITS = frozenset("0123456789.$£€-")


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """The sources of the numbers of a solution."""

    # The values of calculations, equations or the program.
    results: Sequence[float]
    # How many numbers and signs the solution has, and what is not understood of them, in words and in order.
    numbers: int
    open: Sequence[str]
    # The certain faults, in words.
    faults: Sequence[str]

    @property
    def doubt(self) -> str:
        """Says what is wrong or open, in a line; empty if all of the solution is understood."""
        if self.faults:
            return self.faults[0]
        return f"{len(self.open)} of {self.numbers} numbers open: {self.open[0]}" if self.open else ""

    def gives(self, value: float) -> bool:
        return any(
            abs(value - result) <= max(min(place_of(value), place_of(result)) / 2, abs(result) * EXACT)
            for result in self.results
        )


def provenance_of(problem: Problem) -> Provenance:
    # Steps that were read from prose are no further evidence for it.
    steps = () if problem.plan == PLAN_SOURCE_PROSE else problem.steps
    worked = [step for step in steps if calculates(step.expression)]
    inputs = tuple(own.value for step in worked for own in step.inputs)
    # The steps are those of the explanation that a problem came with, not of one that a model wrote for it.
    brought = "" if problem.enrichment.calls else problem.enrichment.detailed_solution
    answer = problem.answer.value if problem.HasField("answer") and problem.plan != PLAN_SOURCE_PROSE else None
    results = tuple(step.result.value for step in worked)
    return _provenance(problem.question, brought or problem.solution, inputs, results, answer)


@lru_cache(1024)
def _provenance(
    question: str, solution: str, inputs: Sequence[float], worked: Sequence[float], answer: float | None
) -> Provenance:
    known = KnownNumbers(question, solution)
    returned = program_result(solution)
    literals = [*inputs, *(numbers_in(solution) if returned is not None else ())]
    unknown = [
        number
        for number in literals
        if number not in worked
        and number not in COUNTS
        # A damaged file may hold "nan".
        and not (math.isfinite(number) and known.sources(stated_value(number)))
    ]
    if returned is not None or unknown:
        return Provenance(
            results=(*worked, returned) if returned is not None and calculates(solution) else (),
            numbers=len(literals),
            open=[f"nothing gives {number:g}" for number in unknown],
            faults=(),
        )
    for number in (*inputs, *worked):
        known.learn_number(number, "result")
    return _Walk(question, solution, known, answer, worked).provenance()


def _is_small(number: float) -> bool:
    """Whether a number may count what the question lists, and is often another one by chance."""
    return number % 1 == 0 and abs(number) <= _SMALL_COUNT


class _Walk:
    def __init__(
        self, question: str, solution: str, known: KnownNumbers, answer: float | None, results: Sequence[float]
    ) -> None:
        self.question, self.solution, self.known = question, solution, known
        # None where the answer was read from the solution itself.
        self.answer = answer
        self.results = [*results]
        written = tokens_of(solution)
        self.tokens = [token for token in written if token.kind == "break" or token.text.strip()]
        self.links = [link for link in calculations_of(solution) if link.right]
        self.sides = [token for token in without_words(written) if token.kind not in ("word", "equals")]
        # How many terms the sums have: a mean divides by it.
        self.terms = {link.expression.count(" + ") + 1 for link in self.links}
        # By the number that a calculation comes to, until another one uses it.
        self.unused: dict[float, int] = {}
        self.used: set[float] = set()
        self.open: list[tuple[int, str]] = []
        self.nowhere: list[tuple[int, Written]] = []
        self.faults: list[str] = []
        # Whether each calculation comes to a number that was known before it.
        self.restated: dict[int, bool] = {}
        self.numbers = 0

    def provenance(self) -> Provenance:
        uses: dict[int, int] = {}
        gives: dict[int, int] = {}
        for number, link in enumerate(self.links):
            uses |= dict.fromkeys(range(link.start, link.stated_at), number)
            gives |= dict.fromkeys(range(link.stated_at, link.end), number)
        mixed = {whole.start: whole for whole in mixed_quantities(self.tokens)}
        # The places in equations that hold for a value of their unknown, and in what states that value.
        equations = solved_equations(f"{self.question}\n{self.solution}")
        held = [one for *both, holds in equations if holds for one in both]
        solved = {at - len(self.question) - 1 for one in held for at in range(one.start, one.end)}
        final: list[Written] = []
        for place, token in enumerate(self.tokens):
            at = token.start
            use, give = uses.get(at), gives.get(at)
            if token.kind == "break" and not _is_harmless(*self._around(place)):
                self.numbers += 1
                self._leave_open(token)
            if token.kind != "number":
                continue
            self.numbers += 1
            sources = self.known.sources(measured_number(token))
            if use is not None:
                self._take_operand(place, sources, use, is_given=give is None)
            if give is not None:
                self._take_result(token, give)
                if use is not None:
                    self.unused.pop(token.value, None)
            elif use is None and at in solved:
                if not sources:
                    self.known.learn(token, "result")
                self.results.append(token.value)
                self._mark_used(sources)
            elif use is None:
                self._take_statement(place, sources, is_form=self._is_form(place, is_statement=True))
                if self.links and at >= self.links[-1].end:
                    final.append(token)
                else:
                    self._mark_used(sources)
            if at in mixed:
                self.known.learn(mixed[at], "result")
        self._explain_nowhere()
        self._compare_conclusion(final)
        self._compare_kind()
        self._look_for_unused(final)
        told = [bit for _, bit in sorted(self.open)]
        return Provenance(results=self.results, numbers=self.numbers, open=told, faults=self.faults)

    def _take_operand(self, place: int, sources: Sequence[Source], link: int, *, is_given: bool) -> None:
        if link not in self.restated:
            # "2 5/6 = 17/6"
            self.restated[link] = bool(self.known.sources(stated_value(self.links[link].value)))
        self._mark_used(sources)
        if not sources and is_given and not self._is_form(place, is_statement=False):
            self.nowhere.append((link, self.tokens[place]))
            self.known.learn(self.tokens[place], "statement")

    def _take_result(self, token: Written, number: int) -> None:
        link = self.links[number]
        first, end = (bisect_left(self.sides, at, key=lambda one: one.start) for at in (link.start, link.stated_at))
        side = self.sides[first:end]
        is_whole = token.start == link.stated_at and token.end == link.end
        if is_whole and len(side) > 1 and all(at != number for at, _ in self.nowhere):
            options = {one.start: self.known.units_of(one) for one in side if one.kind == "number"}
            if token.unit and contradicts(side, options, token):
                self.faults.append(f"{_line(link)!r} does not come to {token.unit_text or token.unit.measure}")
        self.known.learn(token, "result")
        self.results.append(token.value)
        if is_whole:
            self.unused[token.value] = number

    def _take_statement(self, place: int, sources: Sequence[Source], *, is_form: bool) -> None:
        token = self.tokens[place]
        if not sources and not is_form:
            self._leave_open(token)
        if not sources and (token.unit or not is_form):
            self.known.learn(token, "statement")
        if token.unit is None or token.unit.kind == "dimensionless" or _is_small(token.value):
            return
        own = [source.unit for source in sources if abs(source.value) == abs(token.value) or source.unit]
        others = [
            one
            for one in own
            if one and one.kind == token.unit.kind and not math.isclose(one.factor, token.unit.factor)
        ]
        if own and others == own:
            given = ", ".join(dict.fromkeys(one.measure.strip("()") for one in others))
            self.faults.append(f"{self._bit(token)!r} states {token.text}, but the number is given in {given}")

    def _mark_used(self, sources: Sequence[Source]) -> None:
        for source in sources:
            self.used.add(source.value)
            self.unused.pop(source.value, None)

    def _is_form(self, place: int, *, is_statement: bool) -> bool:
        """Whether a number belongs to the form of a calculation, and needs no source."""
        token, before, behind = self._around(place)
        value = abs(token.value * token.scale)
        if token.text[0].isalpha() and any(math.isclose(value, part) for part in PARTS):
            return True
        if not is_statement:
            is_power = before is not None and before.text == "^" and value in _EXPONENTS
            return value in _ALWAYS or is_power or value in self.terms
        goes_on = behind is not None and (
            behind.kind in ("operator", "function", "open")
            or behind.value == math.pi
            or (behind.kind == "word" and len(behind.text) < SHORTEST_NOUN)
        )
        return value in COUNTS and (before is None or before.kind != "equals" or goes_on)

    def _around(self, place: int) -> tuple[Written, Written | None, Written | None]:
        """Returns a token, the one before it and the one behind it."""
        behind = self.tokens[place + 1] if place + 1 < len(self.tokens) else None
        return self.tokens[place], self.tokens[place - 1] if place else None, behind

    def _leave_open(self, token: Written) -> None:
        self.open.append((token.start, f"cannot read {self._bit(token)!r}"))

    def _bit(self, token: Written) -> str:
        """Returns the token with the words around it."""
        start = self.solution.rfind(" ", 0, token.start - _AROUND) + 1 if token.start > _AROUND else 0
        end = self.solution.find(" ", token.end + _AROUND)
        return " ".join(self.solution[start : end if end > 0 else len(self.solution)].split())

    def _explain_nowhere(self) -> None:
        for number, token in self.nowhere:
            if any(math.isclose(token.value, value) for value in results_in(self.solution[: self.links[number].start])):
                # "So the mean is (2 + 3 + 4) / 3 pastries, 9 / 3 = 3"
                continue
            told = (
                f"{_line(self.links[number])!r} uses {format_number(token.value)}, "
                "which neither the question nor an earlier step gives"
            )
            given = self.known.given()
            earlier = [(at, value) for value, at in self.unused.items() if at < number]
            is_time = token.unit is not None and token.unit.kind == _TIME and _CLOCK.search(self.question)
            # The numbers of a figure or a table stand in no text.
            is_open = self.restated[number] or is_time or not given
            if is_open or _is_small(token.value) or self.known.derives(token.value):
                self.open.append((token.start, told))
            elif earlier:
                at, value = max(earlier)
                self.faults.append(f"{told}; {_line(self.links[at])!r} came to {format_number(value)}")
            else:
                rest = [one for one in given if one not in self.used and 0.5 <= one / token.value <= 2]
                near = min(rest, key=lambda one: abs(one - token.value), default=None)
                self.faults.append(told if near is None else f"{told}; the question has {format_number(near)}")

    def _look_for_unused(self, final: Sequence[Written]) -> None:
        """Leaves results open that nothing uses, with the numbers that are used in their place."""
        if asks_several(self.question):
            return
        ends = [measured_number(one) for one in final]
        ends += [] if self.answer is None else [stated_value(self.answer)]
        for value, at in self.unused.items():
            if at < len(self.links) - 1 and not any(_is_result(end, value) for end in ends):
                follows = _line(self.links[at + 1])
                told = f"nothing uses {format_number(value)} of {_line(self.links[at])!r}; {follows!r} follows"
                self.open.append((self.links[at].start, told))

    def _compare_conclusion(self, final: Sequence[Written]) -> None:
        """Says what a solution concludes if that is not what its last calculation comes to."""
        if not self.links or (last := self.links[-1].stated) not in self.unused:
            return
        came = f"but the last calculation, {_line(self.links[-1])!r}, comes to {format_number(last)}"
        if self.answer is not None and not self._may_conclude(stated_value(self.answer), last):
            self.faults.append(f"the answer is {format_number(self.answer)}, {came}")
        stated = [token for token in final if token.text[0] in _FIRST_OF_DIGITS and token.value not in COUNTS]
        if not stated or any(_is_result(measured_number(token), last) for token in final):
            return
        told, value = stated[-1], measured_number(stated[-1])
        is_answer = _ANSWERS.search(self.solution, self.links[-1].end, told.start)
        is_given = any(one.kind == "question" for one in self.known.sources(value))
        if not self._may_conclude(value, last) or (is_answer and is_given):
            self.faults.append(f"{self._bit(told)!r} concludes {format_number(told.value)}, {came}")

    def _may_conclude(self, told: Measured, last: float) -> bool:
        """Whether a number may be concluded from a last calculation: as its result, or as one that was left for it."""
        if _is_result(told, last) or told.number in self.unused:
            return True
        is_earlier = any(one.kind == "result" for one in self.known.sources(told))
        return not is_earlier or told.number not in self.used

    def _compare_kind(self) -> None:
        """Says that a solution ends in another quantity than the question asks for."""
        last = self.links[-1] if self.links else None
        ends = [
            one for one in self.tokens if one.kind == "number" and one.unit and last and one.start >= last.stated_at
        ]
        is_last = last is not None and any(_is_result(measured_number(one), last.stated) for one in ends)
        kinds = asked_kinds(self.question) if is_last else set[str]()
        if last and kinds and all(one.unit and is_another(one.unit, kinds) for one in ends):
            self.faults.append(f"{_line(last)!r} ends in another quantity than the question asks for")


def _line(link: Calculation) -> str:
    return " ".join(link.text.split())


def _is_result(value: Measured, result: float) -> bool:
    cut = (math.ceil(abs(result)), math.floor(abs(result)))
    share = value.percent and value.si is not None and math.isclose(value.si, result, rel_tol=SOLUTION)
    return share or abs(value.number) in cut or agree(stated_value(result), value, about=False)


def _is_harmless(token: Written, before: Written | None, behind: Written | None) -> bool:
    if before and behind and before.kind in ("number", "close") and behind.kind in ("number", "open"):
        if token.text == ":":
            # "8 : 2", and not "after 20 years: 30 - 20".
            return before.end == token.start and token.end < behind.start
        if token.text in ("<", ">") and before.kind == behind.kind == "number":
            return before.value < behind.value if token.text == "<" else before.value > behind.value
    if not token.text.strip() or token.text[0] in _PUNCTUATION or token.text[-1:].isdigit():
        return True
    return not any(one and one.kind in ("number", "operator", "equals") for one in (before, behind))
