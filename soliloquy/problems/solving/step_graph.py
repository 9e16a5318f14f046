"""Turns a program into steps, one for each operation that its result rests on; never runs the code."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from soliloquy.problems.files.step_questions import ENGLISH, capital
from soliloquy.programs.terms import DECIDED, CannotTrace, Term
from soliloquy.programs.tracing import trace_solution
from soliloquy.truth.number_format import format_exact, is_workable, tidy
from soliloquy.truth.numbers import has_number_word
from soliloquy.truth.units import unit

# Words after which a unit says of what, or how often, a quantity is: "eggs_per_day", "minutes_in_an_hour".
_RELATING = frozenset(
    [
        *("a", "an", "after", "before", "between", "by", "each", "every", "for", "from"),
        *("in", "of", "on", "over", "per", "than", "to", "with", "within"),
    ]
)
_SHORTEST = 2


def words_of_name(name: str) -> str:
    return name.replace("_", " ").strip() or name


def unit_of_name(name: str) -> str:
    """Returns the unit of "height_in_cm" and "total_minutes"; empty for a name that says none, or several."""
    *before, last = words_of_name(name).split() or [""]
    if not _is_unit(last) or any(_is_unit(word) for word in before):
        return ""
    if before[-1:] == ["in"]:
        return last if not _RELATING.intersection(before[:-1]) else ""
    plain = not _RELATING.intersection(before) and not has_number_word(" ".join(before))
    return last if plain and last.endswith("s") else ""


def _is_unit(word: str) -> bool:
    return len(word) >= _SHORTEST and bool(unit(word).measure)


_COMMENT = re.compile(r"\s*#+\s*(?P<text>.*\w.*)")
_GIVEN = re.compile(r"\s*\w+ = [-+.\de]+\s*(?:#.*)?")
# How each operation is written, asked for and explained; the first two are filled with both operands.
_OPERATIONS: Mapping[str, tuple[str, str, str]] = {
    "+": ("{} + {}", "How much are {} and {} together?", "Add {} and {}."),
    "-": ("{} - {}", "How much is {} less {}?", "Begin with {} and take away {}."),
    "*": ("{} * {}", "How much is {} times {}?", "Multiply {} by {}."),
    "/": ("{} / {}", "How much is {} divided by {}?", "Divide {} by {}."),
    "**": ("{} ** {}", "How much is {} to the power of {}?", "Raise {} to the power of {}."),
    "sqrt": ("math.sqrt({})", "What is the square root of {}?", "Take the square root of {}."),
    # Arithmetic of schools has no sign for these: they have no expression.
    "//": ("", "How often does {1} go into {0} in full?", "Divide {} by {}, and leave out the rest."),
    "%": ("", "What is left over when {} is divided by {}?", "Divide {} by {}, and take the rest."),
    "max": ("", "Which of the numbers is the largest?", "Take the largest of the numbers."),
    "min": ("", "Which of the numbers is the smallest?", "Take the smallest of the numbers."),
    "round": ("", "What does {} come to, rounded?", "Round {}."),
    "int": ("", "What is {} as a whole number?", "Leave out the fraction of {}."),
    "floor": ("", "What is {} rounded down?", "Round {} down."),
    "ceil": ("", "What is {} rounded up?", "Round {} up."),
    "abs": ("", "How large is {}, whatever its sign?", "Leave out the sign of {}."),
}
# Results with more decimals are rounded as a textbook does before the next step.
_PLACES = 4
# Names that say nothing of a quantity.
_ANSWERS = frozenset(["answer", "result", "ans", "solution"])
# They change what a number is called, or nothing.
_SAME = frozenset(["float", "round", "int", "floor", "ceil", "abs"])


def steps_from_program(code: str) -> list[dict[str, Any]]:
    """Returns a step for each operation of `solution()`, or for each comment if it does more than arithmetic."""
    try:
        return _steps(trace_solution(code), code)
    except CannotTrace:
        comments = [match["text"] for line in code.splitlines() if (match := _COMMENT.fullmatch(line))]
        return [{"explanation": text} for text in comments] or [{"explanation": "Work out what is asked for."}]


def steps_from_script(code: str, variable: str = "answer") -> list[dict[str, Any]]:
    """Returns a step for each operation that a variable rests on; raises CannotTrace."""
    return _steps(trace_solution(code, variable), code)


def _steps(result: Term, code: str) -> list[dict[str, Any]]:
    graph = _Graph(lines=code.splitlines())
    for term in sorted({id(term): term for term in map(_plain, result.walk())}.values(), key=lambda term: term.order):
        if term.operation in _OPERATIONS and term.parts:
            graph.use(term)
    graph.use(_plain(result))
    if not graph.steps:
        raise CannotTrace("it calculates nothing")
    if all(round(value, _PLACES) == value for value in graph.values):
        # Later steps calculate with all digits of 343,723.
        for step, value in zip(graph.steps, graph.values, strict=True):
            step["result"]["value"] = value
    if graph.steps[-1]["result"]["symbol"] in _ANSWERS:
        graph.steps[-1]["ask"] = ENGLISH.asks_answer
    return graph.steps


@dataclass(frozen=True, kw_only=True, slots=True)
class _Operand:
    """A number as a later step names it."""

    text: str
    words: str
    # Empty for a bare number.
    symbol: str = ""
    value: float = 0.0
    given: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Graph:
    lines: Sequence[str]
    steps: list[dict[str, Any]] = field(default_factory=list)
    # The unrounded results of the steps.
    values: list[float] = field(default_factory=list)
    operands: dict[int, _Operand] = field(default_factory=dict)
    symbols: set[str] = field(default_factory=set)

    def use(self, term: Term) -> _Operand:
        """Returns the operand of a term, after the steps that lead to it."""
        if id(term) not in self.operands:
            self.operands[id(term)] = (
                self._added(term) if term.operation in _OPERATIONS and term.parts else self._given(term)
            )
        return self.operands[id(term)]

    def _given(self, term: Term) -> _Operand:
        if term.operation == "negative":
            inner = self.use(_plain(term.parts[0]))
            return _Operand(text=f"(-{inner.text})", words=f"minus {inner.words}", symbol=inner.symbol)
        # Lists are counted, and so are the rounds of a loop.
        if term.operation not in ("", "len", "round"):
            raise CannotTrace(f"{term.operation!r} is no step of arithmetic")
        number = format_exact(term.value)
        if not term.name:
            return _Operand(text=number, words=number)
        symbol = self._symbol(term.name)
        words = f"the {words_of_name(term.name)}"
        return _Operand(text=symbol, words=words, symbol=symbol, value=term.value, given=True)

    def _added(self, term: Term) -> _Operand:
        parts = [self.use(_plain(part)) for part in term.parts]
        written, asked, explained = _OPERATIONS[term.operation]
        if not is_workable(term.value):
            raise CannotTrace(f"{term.value:g} is out of range")
        words = [part.words for part in parts]
        name = term.name or ("answer" if term.line else "")
        symbol = self._symbol(name or f"x{len(self.steps) + 1}")
        called = words_of_name(name) if name else ENGLISH.result.format(number=len(self.steps) + 1)
        result = {"symbol": symbol, "name": called, "unit": unit_of_name(name), "value": tidy(term.value)}
        self.values.append(term.value)
        self.steps.append(
            {
                "explanation": self._comment(term.line) or capital(explained.format(*words)),
                "ask": f"What do you get for the {called}?" if name else capital(asked.format(*words)),
                "expression": written.format(*(part.text for part in parts)),
                "inputs": list(_inputs(parts)),
                "result": result,
            }
        )
        return _Operand(text=symbol, words=f"the {called}", symbol=symbol)

    def _symbol(self, name: str) -> str:
        """Returns the name, with a number behind it if it stands for something else already."""
        symbol, count = name, 1
        while symbol in self.symbols:
            count += 1
            symbol = f"{name}_{count}"
        self.symbols.add(symbol)
        return symbol

    def _comment(self, line: int) -> str:
        """Returns the comment above a calculation or above the numbers that it uses."""
        for before in reversed(self.lines[: max(line - 1, 0)]):
            if match := _COMMENT.fullmatch(before):
                return match["text"].strip()
            if not _GIVEN.fullmatch(before):
                break
        return ""


def _inputs(parts: Sequence[_Operand]) -> Iterator[dict[str, Any]]:
    for part in {part.symbol: part for part in parts if part.given}.values():
        name = words_of_name(part.symbol)
        yield {"symbol": part.symbol, "name": name, "value": part.value, "unit": unit_of_name(part.symbol)}


def _plain(term: Term) -> Term:
    """Leaves out operations that leave a number as it is."""
    while term.operation == DECIDED or (term.operation in _SAME and term.parts and term.parts[0].value == term.value):
        term = term.parts[0]
    return term
