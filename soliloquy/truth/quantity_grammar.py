"""Parses one written quantity by the grammar of `quantity.lark`: its number, and its unit."""

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.unit_table import NO_UNIT, SYMBOL, WORD, Unit, any_of, named, symbol, word

_TABLE = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text("utf-8"))
MAGNITUDES: Mapping[str, float] = _TABLE["magnitudes"]
FRACTIONS: Mapping[str, float] = {sign: top / bottom for sign, (top, bottom) in _TABLE["fractions"].items()}
PARTS: Mapping[str, int] = _TABLE["parts"]
WORDS_BEFORE_MINUS: Sequence[str] = _TABLE["before_minus"]
ONES = {name: float(value) for value, name in enumerate(_TABLE["ones"])}
TENS = {name: 10.0 * tens for tens, name in enumerate(_TABLE["tens"], start=2)}
_LISTS = {
    **{"ONES": any_of(ONES), "TENS": any_of(TENS), "LARGE": any_of(MAGNITUDES), "PARTS": any_of(PARTS)},
    **{"QUARTERED": any_of(_TABLE["quartered"]), "VULGAR": "".join(FRACTIONS), "SYMBOL": SYMBOL, "WORD": WORD},
}
Start = Literal["quantity", "operand", "unit", "rate"]
# The significant digits of numbers that are not rounded, such as fractions and words.
EXACT = 15
# A float reaches 308.
_LARGEST_EXPONENT = 300
_LONGEST_DIGITS = 300
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
_GROUPING = lazy_pattern(r"[\s'’{}]")
_CONTINENTAL = lazy_pattern(r"(?:\d{1,3}(?:\.\d{3})+|\d+),\d+|\d{1,3}(?:\.\d{3}){2,}")
_ENGLISH = lazy_pattern(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:,\d{3}){2,}|\d{1,2}(?:,\d{2})+,\d{3}")
# Money and shares are asked for with and without "per month".
_SHARES = ("money^1", "dimensionless")
_POWERS = {"²": 2, "³": 3, "⁴": 4, "squared": 2, "cubed": 3, "square": 2, "cubic": 3}
_UNIT_GLUE = lazy_pattern(r"[\s~,\\/1-]+")
# No part of a quantity unless more of it follows; tells the ends of most quantities soonest.
_CLAUSE_ENDS = frozenset(["", ".", ",", ";", ":", "!", "?", "\n"])
_WHOLE_EXPONENT = lazy_pattern(r"[-+]?\d{1,6}")


class Value(NamedTuple):
    """A number and where it ends."""

    value: float
    # Half a unit of the last digit: the largest rounding error.
    half: float
    # Significant digits as written; EXACT for fractions and words.
    digits: int
    start: int
    end: int
    # Its digits in English notation, without separators; empty for fractions and words.
    plain: str = ""
    spelled: bool = False
    # "five fifty" is a price where money is meant, and two numbers elsewhere.
    open: bool = False
    # A million, in "3 million"; in an operand the value is without it.
    scale: float = 1.0
    exponent: int = 0
    # Whether it has a power of ten.
    has_power: bool = False
    # π and the roots in it.
    factor: float = 1.0


class Measure(NamedTuple):
    unit: Unit
    end: int


class Quantity(NamedTuple):
    number: Value
    unit: Unit | None
    end: int


class Token(NamedTuple):
    name: str
    text: str
    start: int
    end: int


def parse(start: Start, text: str, at: int) -> Any:
    """Returns the longest quantity, operand, unit or rate that begins at a place; None if none does."""
    return _grammar().longest(start, text, at)


@lru_cache(1)
def _grammar() -> "_Grammar":
    return _Grammar()


class _Grammar:
    """Runs the LALR table of the grammar, and stops where a quantity ends."""

    def __init__(self) -> None:
        table = json.loads(Path(__file__).with_name("quantity.json").read_text("utf-8"))
        self._terminals = {name: lazy_pattern(_filled(pattern)) for name, pattern in table["terminals"].items()}
        self._states: list[dict[str, int]] = table["states"]
        self._rules: list[tuple[str, int, str]] = [
            (name, size, origin) for (name, size), origin in zip(table["rules"], table["origins"], strict=True)
        ]
        self._starts, self._ends = table["starts"], table["ends"]
        self._fitting = [
            [(name, terminal) for name, terminal in self._terminals.items() if name in actions]
            for actions in self._states
        ]

    def longest(self, start: Start, text: str, at: int) -> Any:
        states, values = [self._starts[start]], list[Any]()
        tokens: list[Token] = []
        token = self._next(states[-1], text, at)
        while token and self._feed(states, values, token):
            tokens.append(token)
            token = self._next(states[-1], text, token.end)
        # The text may have gone on as a longer quantity does, and be none.
        is_whole = token is None
        while tokens:
            if is_whole and self._finish(states, values, start):
                return values[0]
            if is_whole:
                tokens.pop()
            states, values = [self._starts[start]], []
            is_whole = all([self._feed(states, values, one) for one in tokens])
        return None

    def _finish(self, states: list[int], values: list[Any], start: Start) -> bool:
        while states[-1] != self._ends[start]:
            action = self._states[states[-1]].get("$END")
            if action is None:
                return False
            self._reduce(states, values, action)
        return True

    def _next(self, state: int, text: str, at: int) -> Token | None:
        if text[at : at + 1] in _CLAUSE_ENDS and not text[at + 1 : at + 2].isalnum():
            return None
        for name, terminal in self._fitting[state]:
            if (found := terminal.match(text, at)) and found.end() > at:
                return Token(name, found[0], at, found.end())
        return None

    def _feed(self, states: list[int], values: list[Any], token: Token) -> bool:
        while (action := self._states[states[-1]].get(token.name)) is not None and action < 0:
            self._reduce(states, values, action)
        if action is None:
            return False
        states.append(action)
        values.append(token)
        return True

    def _reduce(self, states: list[int], values: list[Any], action: int) -> None:
        rule, size, origin = self._rules[-action - 1]
        made = _MEANINGS.get(rule, _through)(values[-size:])
        del states[-size:], values[-size:]
        values.append(made)
        states.append(self._states[states[-1]][origin])


def _through(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else parts


def _filled(pattern: str) -> str:
    for name, words in _LISTS.items():
        pattern = pattern.replace(f"<{name}>", words)
    return pattern


def power_of_ten(text: str) -> int | None:
    """Returns a written exponent; None if it is no whole number, or larger than measured things need."""
    plain = text.translate(_SUPERSCRIPTS).replace(" ", "")
    return int(plain) if _WHOLE_EXPONENT.fullmatch(plain) and abs(int(plain)) <= _LARGEST_EXPONENT else None


def plain_digits(text: str) -> str:
    """Returns digits of any country in English notation, without separators: "1250.5" for "1.250,5"."""
    text = _GROUPING.sub("", text)
    if _ENGLISH.fullmatch(text) or not _CONTINENTAL.fullmatch(text):
        return text.replace(",", "")
    return text.replace(".", "").replace(",", ".")


def decimal(plain: str, exponent: int | None, start: int, end: int, *, has_power: bool = False) -> Value:
    """Returns a number in digits, and what its rounding may hide."""
    whole, _, decimals = plain.partition(".")
    digits = (whole + decimals).lstrip("0")
    if exponent is None or len(plain) > _LONGEST_DIGITS or math.isinf(value := float(f"{plain}e{exponent}")):
        return Value(math.inf, 0.0, 0, start, end)
    # Trailing zeros of a whole number may be placeholders.
    significant = digits if decimals else digits.rstrip("0")
    place = -len(decimals) if decimals else len(digits) - len(significant)
    half = 0.5 * 10.0 ** (place + exponent)
    return Value(value, half, max(len(significant), 1), start, end, plain, exponent=exponent, has_power=has_power)


def _exact(value: float, start: int, end: int, *, spelled: bool = False) -> Value:
    return Value(value, 0.0, EXACT, start, end, spelled=spelled)


def _digits(parts: Sequence[Any]) -> Value:
    [token] = parts
    return decimal(plain_digits(token.text), 0, token.start, token.end)


def _scientific(parts: Sequence[Any]) -> Value:
    mantissa, *_, exponent = parts
    power = exponent if isinstance(exponent, Exponent) else Exponent(power_of_ten(exponent.text[1:]), exponent.end)
    return decimal(plain_digits(mantissa.text), power.power, mantissa.start, power.end, has_power=True)


class Exponent(NamedTuple):
    power: int | None
    end: int


def _exponent(parts: Sequence[Any]) -> Exponent:
    token = parts[-1]
    text = token.text.lower().strip("(){} \t").removesuffix("th").strip()
    text = re.sub(r"^(?:minus|negative)\s+", "-", text)
    sign, spelled = text[: len(text) - len(text.lstrip("-−+"))], text.lstrip("-−+ ")
    return Exponent(power_of_ten(sign + f"{ONES[spelled]:.0f}" if spelled in ONES else text), token.end)


def _power_of_ten(parts: Sequence[Any]) -> Value:
    ten, exponent = parts
    value = math.inf if exponent.power is None else 10.0**exponent.power
    return _exact(value, ten.start, exponent.end)._replace(has_power=True)


def _part(text: str) -> float:
    """Returns the part that "and three quarters" or "and a half" adds."""
    *_, count, parts = text.lower().replace("-", " ").split()
    return ONES.get(count, 1.0) / (PARTS.get(parts) or PARTS[parts.removesuffix("s")])


_FRACTION = lazy_pattern(r"(\d+(?:\.\d+)?)\D+(\d+(?:\.\d+)?)")


def _fraction(parts: Sequence[Any]) -> Value:
    [token] = parts
    if token.name == "VULGAR":
        return _exact(FRACTIONS[token.text], token.start, token.end)
    top, bottom = re.findall(r"\d+(?:\.\d+)?", token.text)
    return _exact(float(top) / float(bottom) if float(bottom) else math.inf, token.start, token.end)


def _rational(parts: Sequence[Any]) -> Value:
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        value: Value = first
        return value
    part = _part(last.text) if isinstance(last, Token) and last.name == "AND_PART" else None
    if part is None:
        part = last.value if isinstance(last, Value) else _fraction([last]).value
    return _exact(float(first.text) + part, first.start, last.end)


def _irrational(parts: Sequence[Any]) -> Value:
    [token] = parts
    value = math.pi if token.name == "PI" else math.sqrt(float(re.findall(r"\d+(?:\.\d+)?", token.text)[0]))
    return _exact(value, token.start, token.end)._replace(factor=value)


def _exact_number(parts: Sequence[Any]) -> Value:
    value = half = factor = 1.0
    is_rounded, digits = False, EXACT
    for part in _flat(parts):
        if isinstance(part, Value):
            value *= part.value
            factor *= part.factor
            is_rounded = is_rounded or "." in part.plain
            half, digits = (half * part.half, part.digits) if part.plain else (half * part.value, digits)
        elif part.name in ("DIGITS", "OVER_NUMBER"):
            number = float(plain_digits(part.text.strip(" /")))
            is_top = part.name == "DIGITS" and part is not parts[-2]
            value = value * number if is_top else value / number if number else math.inf
            half = half / number if number and not is_top else half
    ends = [part for part in _flat(parts)]
    whole = _exact(value, ends[0].start, ends[-1].end)._replace(factor=factor)
    return whole._replace(half=half, digits=digits) if is_rounded else whole


def _flat(parts: Sequence[Any]) -> list[Any]:
    return [one for part in parts for one in (_flat(part) if type(part) is list else [part])]


def _scaled_number(parts: Sequence[Any]) -> Value:
    """Applies "thousand", and takes "of an" along."""
    first, *rest = parts
    if not rest and isinstance(first, Value):
        return first
    value = (
        first if isinstance(first, Value) else _exact(0.5 if first.name == "HALF" else 1.0, *first[2:], spelled=True)
    )
    for part in rest:
        value = value._replace(end=part.end)
        if isinstance(part, Token) and part.name == "MAGNITUDE":
            scale = _scale(part)
            value = value._replace(value=value.value * scale, half=value.half * scale, scale=scale)
    return value


def _scale(token: Token) -> float:
    return 1000.0 if token.text == "k" else MAGNITUDES[token.text.strip().lower().removesuffix("s")]


def _plain(parts: Sequence[Any]) -> Value:
    first, *rest = parts
    match first, rest:
        case Token(name="CLOCK"), _:
            hours, minutes = first.text.split(":")
            return decimal(f"{int(hours) * 60 + int(minutes)}", 0, first.start, first.end)
        case Token(name="VULGAR"), _:
            first = _fraction([first])
        case Token(name="MIXED"), _:
            whole, top, bottom = map(float, re.findall(r"\d+", first.text))
            first = _exact(whole + top / bottom if bottom else math.inf, first.start, first.end)
        case Value(), [Token(name="VULGAR") as part, *_]:
            first, rest = _exact(first.value + FRACTIONS[part.text], first.start, part.end), rest[1:]
    return first._replace(scale=_scale(rest[0]), end=rest[0].end) if rest else Value(*first)


class Words(NamedTuple):
    """What number words come to so far: thousands, and what may still be multiplied."""

    total: float
    current: float
    half: float
    start: int
    end: int


def _small(parts: Sequence[Any]) -> Words:
    value = sum(TENS.get(name) or ONES[name] for name in (part.text.lower().strip(" -\n\t") for part in parts))
    return Words(0.0, value, 0.5, parts[0].start, parts[-1].end)


def _large(parts: Sequence[Any]) -> Words:
    first, *rest = parts
    if isinstance(first, Token):
        first, rest = Words(0.0, 0.0, 0.5, first.start, first.end), [first]
    total, current, half, start, _ = first
    for part in rest:
        if isinstance(part, Words):
            current += part.current
        elif part.name != "REST":
            size = MAGNITUDES[part.text.lower().split()[-1].removesuffix("s")]
            if not current:
                # "a thousand million"
                current, total = total, 0.0
            current = (current or 1.0) * size
            half = max(half, size / 2)
            if size > 100:
                total, current = total + current, 0.0
    return Words(total, current, half, start, rest[-1].end)


def _cardinal(parts: Sequence[Any]) -> Words:
    first, *rest = parts
    if not rest:
        return Words(*first)
    return first._replace(current=first.current + rest[-1].current, half=0.5, end=rest[-1].end)


def _spelled(parts: Sequence[Any]) -> Value:
    [words] = parts
    return Value(words.total + words.current, words.half, EXACT, words.start, words.end, spelled=True)


def _spelled_point(parts: Sequence[Any]) -> Value:
    words, _, *decimals = _flat(parts)
    digits = "".join(f"{ONES[token.text.lower().strip()]:.0f}" for token in decimals)
    value = float(f"{words.total + words.current:.0f}.{digits}")
    half = 0.5 * 10.0 ** -len(digits)
    return Value(value, half, EXACT, words.start, decimals[-1].end, spelled=True)


def _spelled_and_part(parts: Sequence[Any]) -> Value:
    words, token = parts
    return _exact(words.total + words.current + _part(token.text), words.start, token.end, spelled=True)


def _spelled_share(parts: Sequence[Any]) -> Value:
    token = parts[-1]
    count = parts[0].total + parts[0].current if len(parts) > 1 else 1.0
    name = token.text.lower().strip().removeprefix("-").split()[-1]
    share = count / (PARTS.get(name) or PARTS[name.removesuffix("s")])
    return _exact(share, parts[0].start, token.end, spelled=True)


def _spoken_price(parts: Sequence[Any]) -> Value:
    whole, cents = (_small([part]) if len(part.text.split()) < 2 else part for part in parts)
    cents = sum(
        TENS.get(name, 0.0) or ONES.get(name, 0.0) for name in re.split(r"[-\s]+", parts[1].text.lower().strip())
    )
    value = ONES[parts[0].text.lower()] + cents / 100
    return Value(value, 0.005, EXACT, parts[0].start, parts[1].end, spelled=True, open=True)


def _signed(parts: Sequence[Any]) -> Value:
    number: Value = parts[-1]
    return number._replace(value=-number.value, start=parts[0].start) if len(parts) > 1 else number


def _quantity(parts: Sequence[Any]) -> Quantity:
    number = known = None
    for part in parts:
        if isinstance(part, Value):
            number = part if number is None else number
        elif isinstance(part, Measure):
            known = part.unit
        elif part.name == "CURRENCY":
            known = symbol("$")
    assert number is not None
    if isinstance(parts[0], Token) and parts[0].name == "SIGN":
        number = number._replace(value=-number.value, start=parts[0].start)
    elif isinstance(parts[-1], Token):
        # "below zero"
        number = number._replace(value=-abs(number.value))
    return Quantity(number, known, parts[-1].end)


def _quantity_and_part(parts: Sequence[Any]) -> Quantity:
    number, token = parts
    name = token.text.split()[0]
    found = parse("unit", name, 0)
    known = found.unit if found and found.end == len(name) else None
    return Quantity(_exact_of(number, number.value + _part(token.text)), known, token.end)


def _exact_of(number: Value, value: float) -> Value:
    return number._replace(value=value, half=0.0, digits=EXACT)


def _time(parts: Sequence[Any]) -> Quantity:
    [token] = parts
    hours, minutes = re.findall(r"\d+", token.text)
    number = Value(int(hours) + int(minutes) / 60, 0.5 / 60, EXACT, token.start, token.end)
    return Quantity(number, named("hour"), token.end)


def _price_rate(parts: Sequence[Any]) -> Quantity:
    _, number, rate = parts
    return Quantity(number, rate_of(symbol("$") or NO_UNIT, rate), rate.end)


class Divisor(NamedTuple):
    """What a text divides a unit by, and whether it says so of each: "3 km a day"."""

    unit: Unit
    each: bool
    end: int


def rate_of(above: Unit, divisor: Divisor) -> Unit:
    """Returns a rate that states what it divides too, where that is money or a share, or said of each."""
    rate = above.times(divisor.unit, -1)
    if divisor.each or above.kind in _SHARES:
        return Unit(rate.kind, rate.factor, rate.offset, rate.measure, above)
    return rate


def _rate(parts: Sequence[Any]) -> Divisor:
    if parts[0].name == "EACH_WORD":
        return Divisor(_named(parts, divides=True).unit, each=True, end=parts[-1].end)
    below = parts[-1]
    return Divisor(below.unit.otherwise or below.unit, each=False, end=below.end)


def _power_value(token: Token) -> int:
    text = token.text.translate(_SUPERSCRIPTS).strip()
    digits = re.findall(r"-?\d", text)
    return int(digits[0]) if digits else _POWERS[text]


def _named(parts: Sequence[Any], *, divides: bool = False) -> Measure:
    """Returns the unit of a symbol or a word, with its power."""
    token = next(part for part in parts if part.name.endswith(("SYMBOL", "WORD")))
    exponent = parts[-1] if parts[-1].name in ("POWER", "TYPED", "RAISED_WORD") else None
    power = _power_value(exponent) if exponent else 1
    glue = _UNIT_GLUE.match(token.text)
    text = token.text[glue.end() :] if glue else token.text
    if token.name.endswith("SYMBOL"):
        if text == "ms" and power < 0:
            # "ms^-2" is a metre per second squared, whatever "ms" is elsewhere.
            return Measure(named_symbol("m").times(named_symbol("s"), power), parts[-1].end)
        own = named_symbol(text)
    else:
        first, *rest = text.lower().split(None, 1)
        if first in ("a", "an"):
            text = rest[0]
            first, *rest = text.split(None, 1)
        if first in ("square", "cubic"):
            power, text = _POWERS[first], rest[0]
        own = word(text, divides=divides)
    return Measure(own if power == 1 else _raised(own, power), parts[-1].end)


def _raised(own: Unit, power: int) -> Unit:
    return Unit("dimensionless", 1.0).times(own, power)


def named_symbol(text: str) -> Unit:
    found = symbol(text)
    if found is None:
        raise KeyError(text)
    return found


def _inverse(parts: Sequence[Any]) -> Measure:
    below = _named(parts[1:])
    return Measure(_raised(below.unit, -1), below.end)


def _next(parts: Sequence[Any]) -> Measure:
    first, *rest = parts
    factor = _named(rest)
    return Measure(first.unit.times(factor.unit), factor.end)


def _product(parts: Sequence[Any]) -> Measure:
    other = next(part for part in parts[1:] if isinstance(part, Measure))
    return Measure(parts[0].unit.times(other.unit), parts[-1].end)


def _quotient(parts: Sequence[Any]) -> Measure:
    other = next(part for part in parts[1:] if isinstance(part, Measure))
    divisor = Divisor(other.unit.otherwise or other.unit, each=False, end=parts[-1].end)
    return Measure(rate_of(parts[0].unit, divisor), parts[-1].end)


def _each(parts: Sequence[Any]) -> Measure:
    below = _named(parts[1:], divides=True)
    return Measure(rate_of(parts[0].unit, Divisor(below.unit, each=True, end=below.end)), below.end)


_MEANINGS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "quantity": _quantity,
    "quantity_and_part": _quantity_and_part,
    "price": _quantity,
    "debt": _quantity,
    "price_rate": _price_rate,
    "below": _quantity,
    "time": _time,
    "operand": _quantity,
    "operand_rate": _price_rate,
    "signed": _signed,
    "number": _scaled_number,
    "plain": _plain,
    "digits": _digits,
    "scientific": _scientific,
    "power_of_ten": _power_of_ten,
    "exponent": _exponent,
    "rational": _rational,
    "fraction": _fraction,
    "exact": _exact_number,
    "irrational": _irrational,
    "spelled": _spelled,
    "spelled_point": _spelled_point,
    "spelled_and_part": _spelled_and_part,
    "spelled_share": _spelled_share,
    "spoken_price": _spoken_price,
    "cardinal": _cardinal,
    "scaled": _large,
    "small": _small,
    "factor": _named,
    "inverse": _inverse,
    "next": _next,
    "product": _product,
    "quotient": _quotient,
    "each": _each,
    "rate": _rate,
}
