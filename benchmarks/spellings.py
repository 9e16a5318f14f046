"""`python -m benchmarks spellings`."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, report, total
from soliloquy.truth.number_format import format_number, format_rounded, written_number
from soliloquy.truth.number_meanings import FRACTIONS, ONES, PARTS, TENS
from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.units import unit

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# Each unit, and other spellings of it.
_UNITS = {
    "": [""],
    "m": [" m", " metres", "m"],
    "kg·m²": [" kg m^2", " kg·m²", " kg m²", r" \mathrm{kg\,m^2}"],
    "N": [" N", " newtons", " kg·m/s²", " kg m s^-2", " kg m/s^2"],
    "m/s²": [" m/s²", " m s^-2", " metres per second squared", r"\,\mathrm{m\,s^{-2}}"],
    "J/(kg·K)": [" J/(kg K)", " J kg^-1 K^-1", " J/(kg·K)"],
    "km/h": [" km/h", " kilometres per hour", " km per hour"],
    "µF": [" µF", " uF", " microfarads"],
    "°C": [" °C", " degrees Celsius"],
    "%": [" %", "%", " percent", " per cent"],
    "h": [" h", " hours"],
    "N·m²/kg²": [" N m²/kg²", " N·m^2/kg^2"],
}
_SENTENCES = (
    "I get {}.",
    "{}",
    "So it is {}, I think.",
    "The result ({}) is right.",
    "x = {}",
    "It comes to {} in the end.",
)


class Spelling(NamedTuple):
    kind: str
    text: str
    value: float
    unit: str


def drawn_spellings(count: int, seed: int) -> Iterator[Spelling]:
    """Yields quantities in sentences, each in one of many ways to write it."""
    draw = random.Random(seed)
    names = list(_KINDS)
    for place in range(count):
        kind = names[place % len(names)]
        said, value, own = _KINDS[kind](draw)
        yield Spelling(kind, draw.choice(_SENTENCES).format(said), value, own)


def is_read(spelling: Spelling) -> bool:
    found = quantities_in(spelling.text)
    if len(found) != 1:
        return False
    known, wanted = found[0].unit or unit(""), unit(spelling.unit)
    same = math.isclose(known.in_base(found[0].value), wanted.in_base(spelling.value), rel_tol=1e-9, abs_tol=1e-300)
    return known.kind == wanted.kind and same


def _in_unit(number: str, value: float, draw: random.Random) -> tuple[str, float, str]:
    own = draw.choice(list(_UNITS))
    return number + draw.choice(_UNITS[own]), value, own


def _plain(draw: random.Random) -> tuple[str, float, str]:
    value = round(draw.uniform(0, 10 ** draw.randint(0, 6)), draw.randint(0, 3))
    sign = draw.choice(["", "", "-", "−"])
    return _in_unit(sign + format_number(value), -value if sign else value, draw)


def _power(draw: random.Random) -> tuple[str, float, str]:
    mantissa, exponent = round(draw.uniform(1, 10), draw.randint(0, 3)), draw.randint(-30, 30)
    first = format_number(mantissa)
    forms = [
        *(f"{first}e{exponent}", f"{first}E{exponent}", f"{first}x10^{exponent}", f"{first} × 10^{exponent}"),
        *(
            f"{first} \\times 10^{{{exponent}}}",
            f"{first}·10{str(exponent).translate(_RAISED)}",
            f"{first}*10**{exponent}",
        ),
        f"{first} times ten to the {'minus ' if exponent < 0 else 'power of '}{abs(exponent)}",
    ]
    return _in_unit(draw.choice(forms), float(f"{first}e{exponent}"), draw)


def _formatted(draw: random.Random) -> tuple[str, float, str]:
    value = draw.uniform(1, 10) * 10.0 ** draw.randint(-12, 12)
    if draw.random() < 0.5:
        return _in_unit(written_number(value), float(format_number(value)), draw)
    said = format_rounded(value, draw.randint(1, 6))
    return _in_unit(said, float(said.replace(" × 10^", "e")), draw)


def _grouped(draw: random.Random) -> tuple[str, float, str]:
    value = draw.randint(1_000, 99_999_999)
    english = f"{value:,}"
    decimals = draw.choice(["", f"{draw.randint(1, 99):02}"])
    signs = draw.choice([",.", "'.", "\u202f.", " .", ".,", "i.", "{,}."])
    if signs == "i.":
        said = _indian(value)
        return said, float(value), ""
    if signs == ".," and not decimals and english.count(",") < 2:
        # "1.250" is a decimal.
        return english, float(value), ""
    said = english.replace(",", signs[:-1]) + (signs[-1] + decimals if decimals else "")
    return said, float(f"{value}.{decimals or 0}"), ""


def _indian(value: int) -> str:
    digits, last = str(value)[:-3], str(value)[-3:]
    pairs: list[str] = []
    while digits:
        digits, pair = digits[:-2], digits[-2:]
        pairs.insert(0, pair)
    return ",".join([*pairs, last])


def _comma(draw: random.Random) -> tuple[str, float, str]:
    value = round(draw.uniform(0, 1000), draw.randint(1, 2))
    return _in_unit(f"{value}".replace(".", ","), value, draw)


def _fraction(draw: random.Random) -> tuple[str, float, str]:
    top, bottom, whole = draw.randint(1, 12), draw.randint(2, 16), draw.randint(1, 30)
    sign, part = draw.choice(list(FRACTIONS.items()))
    name = draw.choice([name for name, parts in PARTS.items() if parts < 13 and name != "halves"])
    several = draw.randint(2, 9)
    plural = "halves" if name == "half" else f"{name}s"
    said, value = draw.choice(
        [
            *((f"{top}/{bottom}", top / bottom), (f"\\frac{{{top}}}{{{bottom}}}", top / bottom), (sign, part)),
            *((f"{whole} {top}/{bottom}", whole + top / bottom), (f"{whole}{sign}", whole + part)),
            (f"{whole} and {_words(several)} {plural}", whole + several / PARTS[name]),
            (f"{_words(several)} {plural}", several / PARTS[name]),
        ]
    )
    return said, value, ""


def _exact(draw: random.Random) -> tuple[str, float, str]:
    factor, under = draw.randint(2, 40), draw.randint(2, 12)
    said, value = draw.choice(
        [
            *((f"{factor}π", factor * math.pi), (f"{factor} pi", factor * math.pi)),
            *((f"π/{under}", math.pi / under), (f"{factor}π/{under}", factor * math.pi / under)),
            *((f"√{under}", math.sqrt(under)), (f"{factor}√{under}", factor * math.sqrt(under))),
            (f"{factor}\\sqrt{{{under}}}", factor * math.sqrt(under)),
            (f"\\frac{{{factor}\\pi}}{{{under}}}", factor * math.pi / under),
        ]
    )
    return f"{said} {draw.choice(['cm', 'radians', 'seconds'])}", value, ""


def _exact_in_unit(draw: random.Random) -> tuple[str, float, str]:
    said, value, _ = _exact(draw)
    return said, value, {"cm": "cm", "radians": "rad", "seconds": "s"}[said.split()[-1]]


def _words(value: int) -> str:
    """Writes a whole number in words."""
    ones, tens = [*map(str, ONES)], [*map(str, TENS)]
    if value < 20:
        return ones[value]
    if value < 100:
        return tens[value // 10 - 2] + (f"-{ones[value % 10]}" if value % 10 else "")
    for size, name in ((1_000_000, "million"), (1000, "thousand"), (100, "hundred")):
        if value >= size:
            rest = value % size
            link = " and " if rest < 100 else " "
            return f"{_words(value // size)} {name}" + (link + _words(rest) if rest else "")
    raise AssertionError(value)


def _spelled(draw: random.Random) -> tuple[str, float, str]:
    value = draw.randint(2, 10 ** draw.randint(1, 6))
    return f"{_words(value)} {draw.choice(['metres', 'seconds', 'kilograms'])}", value, ""


def _spelled_in_unit(draw: random.Random) -> tuple[str, float, str]:
    said, value, _ = _spelled(draw)
    return said, value, {"metres": "m", "seconds": "s", "kilograms": "kg"}[said.split()[-1]]


def _money(draw: random.Random) -> tuple[str, float, str]:
    whole, cents = draw.randint(1, 500), draw.randint(1, 99)
    value = whole + cents / 100
    forms = [f"${value:.2f}", f"£{value:.2f}", f"{value:.2f} dollars", f"{value:.2f} €"]
    forms += [f"{whole} dollars and {cents} cents", f"{whole * 100 + cents} cents"]
    return draw.choice(forms), value, "$"


def _time(draw: random.Random) -> tuple[str, float, str]:
    hours, minutes = draw.randint(1, 23), draw.randint(1, 59)
    forms = [
        f"{hours}h{minutes:02}",
        f"{hours}:{minutes:02} h",
        f"{hours} hours {minutes} minutes",
        f"{hours} h {minutes} min",
    ]
    return draw.choice(forms), hours + minutes / 60, "h"


def _negative(draw: random.Random) -> tuple[str, float, str]:
    value = draw.randint(1, 300)
    forms = [f"negative {value}", f"{value} below zero", f"-{value}", f"−{value}"]
    return draw.choice(forms), -value, ""


_KINDS: dict[str, Callable[[random.Random], tuple[str, float, str]]] = {
    **{
        "plain": _plain,
        "power of ten": _power,
        "formatted": _formatted,
        "thousands": _grouped,
        "decimal comma": _comma,
    },
    **{"fraction": _fraction, "π and roots": _exact_in_unit, "words": _spelled_in_unit, "money": _money, "time": _time},
    "negative": _negative,
}


@click.command()
@click.option("--count", default=100_000, show_default=True, type=click.IntRange(min=1), help="How many to read.")
@click.option("--seed", default=17, show_default=True)
@LISTED
@AS_JSON
def spellings(*, count: int, seed: int, listed: bool, as_json: bool) -> None:
    """Read quantities whose spelling was drawn, and count those that are read as another one."""
    kinds: dict[str, Readings] = defaultdict(Readings)
    for one in drawn_spellings(count, seed):
        right = is_read(one)
        kinds[one.kind].add(["right" if right else "wrong"], "" if right else f"{one.kind}: {one.text}")
    report({**kinds, "all": total(kinds.values())}, ("right", "wrong"), listed=listed, as_json=as_json)
