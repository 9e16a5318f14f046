"""Steps from a solution in prose, with the calculations that it writes out: "so F = 50 kg × 10 m/s² = 500 N"."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from keyword import iskeyword

from soliloquy.problems.files.file_steps import file_step
from soliloquy.problems.files.stated_results import Stated, lists_values, stated_result
from soliloquy.problems.files.step_questions import ENGLISH, ask_differently
from soliloquy.texts.plurals import is_plural
from soliloquy.truth.calculations import Calculation, calculations_of
from soliloquy.truth.expressions import BadExpression, Expression, Unworkable, parse_expression
from soliloquy.truth.number_format import is_workable
from soliloquy.truth.number_meanings import MAGNITUDES
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.quantities import LABELS, quantities_in
from soliloquy.truth.quantity_grammar import Quantity, parse
from soliloquy.truth.units import unit
from soliloquy.v1 import conversation_pb2 as pb

_OPERATION = re.compile(r"[-+*/(]")
_CLAUSE = re.compile(r"[.;,:\n](?!\d)|[^\W\d_]{3,}\b(?!\()")
_LETTER, _CALCULATES = re.compile(r"[^\W\d_]"), re.compile(r"[\d+*/^-]")
# In a longer text the last number is more often an explanation than a result.
_SHORT, _SHORT_LIST = 20, 8
# The relative error by which a stated result may be rounded.
ROUNDING = 0.01
_DIVIDES = re.compile(r"\s*[,;]\s")

SAME_SIGN = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "∙": "*", "⋅": "*", "÷": "/", "≈": "=", "½": "0.5"})
# A thing that is counted, at the end of its sentence: "31 together" and "30 remain" count none.
THING = re.compile(r"\s?([^\W\d_]+)(?!\s*\w)")
# A number behind one of these belongs to a formula and numbers no step: "E = m v^2 / 2. Step 2) ..".
OPERATOR = re.compile(r"[=+*/^(]\s*$")
# Continues a formula behind its first number: "2 * pi * r", "0.5 m v^2".
FORMULA_GOES_ON = re.compile(r"\s*[*/^+]|\s+[^\W\d_][\^²³]")
# The name that a calculation begins with: after a word or a stop, not after a sign or a number.
SYMBOL = re.compile(r"(?:^|[^\W\d_]\s|[,:;(.])\s*(?P<symbol>[^\W\d]\w*)\s*=")


def _find_calculation(
    text: str, start: int, links: Sequence[Calculation]
) -> tuple[str, Expression | None, Stated] | None:
    """Returns the symbol, expression and result of the last calculation, else the last number of a text.

    The text begins at `start` of the solution that the calculations belong to.
    """
    plain = text.translate(SAME_SIGN)
    said = stated_result(text)
    for link in reversed(links):
        if said is not None and said.start >= link.end - start:
            # The text comes to another number behind it.
            break
        if (
            _is_calculated(link, text[link.end - start :])
            and (expression := _expression(link)) is not None
            and is_workable(link.stated)
        ):
            return _symbol_before(plain, link.start - start), expression, _stated_by(link, plain, start)
    last = said or _last_converted(plain, start, links)
    if last is None and len(plain.split()) <= (_SHORT_LIST if lists_values(text) else _SHORT):
        last = _last_stated(plain.split("="))
    if last is not None and _is_of_equation(plain[: last.start]):
        last = None
    return (_symbol_before(plain, len(plain)), None, last) if last else None


def _is_of_equation(before: str) -> bool:
    """Whether a number is a side of an equation in an unknown, and so no result: the 34 of "2w + 2(w + 3) = 34"."""
    side, equals, _ = _CLAUSE.split(before)[-1].partition("=")
    return bool(equals and _LETTER.search(side) and _CALCULATES.search(side))


def _is_calculated(link: Calculation, behind: str) -> bool:
    """Whether a link is more than a number in another unit, and not the beginning of a formula."""
    return _OPERATION.search(link.expression) is not None and not behind[:1].isalpha()


def _last_converted(plain: str, start: int, links: Sequence[Calculation]) -> Stated | None:
    """Returns the last number that is stated again in another unit, but not "1 kg = 1000 g"."""
    for link in reversed(links):
        if (
            not _OPERATION.search(link.expression)
            and link.expression.strip() not in ("1", "1.0")
            and is_workable(link.stated)
        ):
            return _stated_by(link, plain, start)
    return None


def _stated_by(link: Calculation, plain: str, start: int) -> Stated:
    at = link.stated_at - start
    unit = "$" if plain[at - 1 : at] == "$" else _textbook(link.unit) or unit_at(plain, at)
    return Stated(link.stated, unit, at)


def _expression(link: Calculation) -> Expression | None:
    """Returns the expression if it yields the stated number without its units."""
    try:
        expression = parse_expression(link.expression)
        calculated = expression.value({})
    except (BadExpression, Unworkable):
        return None
    return expression if abs(calculated - link.stated) <= ROUNDING * abs(calculated) else None


def _symbol_before(text: str, end: int) -> str:
    """Returns the name that a chain of calculations begins with: F in "so F = m a = 50 * 10"."""
    symbols = [match["symbol"] for match in SYMBOL.finditer(text, 0, end) if not iskeyword(match["symbol"])]
    return symbols[-1] if symbols else ""


def _last_stated(parts: list[str]) -> Stated | None:
    """Returns the number behind the last equals sign, else the last number of the text."""
    found = next(filter(None, map(_stated_number, reversed(parts[1:]))), None)
    last = parts[-1]
    numbers = [one.start for one in numbers_in_digits(last) if not OPERATOR.search(last, 0, one.start)]
    # "#### 19" is an answer.
    numbers = [start for start in numbers if not LABELS.search(last.replace("#", " "), 0, start)]
    return found or (_stated_number(last, numbers[-1]) if numbers else None)


def _stated_number(text: str, position: int = 0) -> Stated | None:
    """Parses the number at a position and its unit, if it is within the range of calculations."""
    at = position + len(text[position:]) - len(text[position:].lstrip())
    found: Quantity | None = parse("quantity", text, at)
    if found is None or found.number.spelled or FORMULA_GOES_ON.match(text, found.end):
        return None
    value = found.number.value
    return Stated(value, _unit(text, found), at) if is_workable(value) else None


def unit_at(text: str, position: int) -> str:
    """Returns the unit of the number at a position; empty if there is no number or no unit."""
    stated = _stated_number(text, position)
    return stated.unit if stated else ""


def _unit(text: str, found: Quantity) -> str:
    """Returns the unit of a number, or the thing that it counts at the end of its sentence."""
    if "$" in text[max(0, found.number.start - 2) : found.number.start]:
        return "$"
    if found.unit is not None:
        return _textbook(text[found.number.end : found.end].strip())
    thing = THING.match(text, found.end)
    return thing[1] if thing and is_plural(thing[1]) and thing[1].casefold() not in MAGNITUDES else ""


def _textbook(unit: str) -> str:
    return unit.replace("^2", "²").replace("^3", "³").replace("*", "·")


STEP_NUMBER = re.compile(
    r"(?:^|(?<=\s))(?:(?P<word>[Ss]tep)\s+(?P<named>\d+)\s*[).:-]|(?P<bare>\d+)(?P<mark>[).])(?=\s))\s*"
)
# A number begins a sentence behind a whole word or a unit: "in the boxes. 120 - 20 = 100", and not "approx. 120".
SENTENCE_END = re.compile(
    r"(?<=[.!?;])\s+(?=[^\s\d])"
    r"|(?:(?<=[a-z]{2}[.!?])(?<!\bno\.)(?<!\bca\.)(?<!prox\.)|(?<=\d [A-Za-z]\.)|(?<=[%²³]\.))\s+(?=\d)"
)


def steps_from_prose(solution: str, question: str = "") -> list[pb.Step]:
    """Reads the steps; a number of the question that only the last of them comes to may be a result."""
    right = [link for link in calculations_of(solution) if link.right]
    steps: list[pb.Step] = []
    end = 0
    for piece in _pieces(solution):
        begin = solution.index(piece, end)
        end = begin + len(piece)
        for start, text in _divided(piece, begin, [link for link in right if begin <= link.start and link.end <= end]):
            own = [link for link in right if start <= link.start and link.end <= start + len(text)]
            steps.append(_step(len(steps) + 1, text, start, own))
    given = {(one.value, one.unit.kind if one.unit else None) for one in quantities_in(question)}
    for step in [step for step in steps if step.HasField("result")][:-1]:
        if not step.expression and (step.result.value, _kind(step.result.unit)) in given:
            steps[step.number - 1] = file_step(number=step.number, explanation=step.explanation)
    ask_differently(steps)
    return steps


def _kind(stated: str) -> str | None:
    known = unit(stated)
    return known.kind if known.measure else None


def _pieces(solution: str) -> list[str]:
    """Splits the solution at its step numbers, else into lines, else into sentences."""
    for pieces in (_numbered(solution), solution.splitlines(), SENTENCE_END.split(solution)):
        texts = [piece.strip() for piece in pieces if piece.strip()]
        if len(texts) > 1:
            return texts
    return [solution.strip()]


def _divided(piece: str, begin: int, links: Sequence[Calculation]) -> Iterator[tuple[int, str]]:
    """Yields each calculation that a comma divides from the next: "$80 - $12 = $68, $68 - $12 = $56"."""
    start = 0
    for one, other in pairwise(link for link in links if _OPERATION.search(link.expression)):
        if comma := _DIVIDES.match(piece, one.end - begin, max(one.end, other.start) - begin):
            yield begin + start, piece[start : comma.start()]
            start = comma.end()
    yield begin + start, piece[start:]


def _numbered(solution: str) -> list[str]:
    """Returns the texts behind the numbers 1, 2, 3, .. in the form of the first; any other number belongs to a text."""
    plain = solution.translate(SAME_SIGN)
    cuts: list[re.Match[str]] = []
    for match in STEP_NUMBER.finditer(plain):
        follows = int(match["named"] or match["bare"]) == len(cuts) + 1
        alike = not cuts or _form(match) == _form(cuts[0])
        if follows and alike and not (match["bare"] and OPERATOR.search(plain, 0, match.start())):
            cuts.append(match)
    ends = [match.start() for match in cuts[1:]] + [len(solution)]
    return [solution[match.end() : end] for match, end in zip(cuts, ends, strict=False)]


def _form(match: re.Match[str]) -> str:
    return "step" if match["word"] else str(match["mark"])


def _step(number: int, text: str, start: int, links: Sequence[Calculation]) -> pb.Step:
    found = _find_calculation(text, start, links)
    if found is None:
        return file_step(number=number, explanation=text)
    symbol, expression, (value, unit, _) = found
    name = ENGLISH.result.format(number=number)
    return file_step(
        number=number,
        explanation=text,
        expression=expression,
        result=pb.Quantity(symbol=symbol or f"x{number}", name=name, value=value, unit=unit),
    )
