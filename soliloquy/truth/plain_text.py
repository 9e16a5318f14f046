"""Rewrites LaTeX, Markdown and continental decimals as the readers of numbers and formulas expect them."""

import re

from soliloquy.truth.markup import without_markup
from soliloquy.truth.number_format import format_exact
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.spelled import SPELLED, value_of

_GREEK = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "eta": "η", "theta": "θ", "lambda": "λ"},
    **{"mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "phi": "φ", "omega": "ω", "Omega": "Ω"},
}
_SIGNS = {
    "cdot": "·",
    "times": "×",
    "approx": "≈",
    "div": "/",
    "circ": "°",
    "rightarrow": "→",
    "Rightarrow": "→",
    "to": "→",
}
_FRACTION = lazy_pattern(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_COMMAND = lazy_pattern(r"\\([A-Za-z]+)")
_SUBSCRIPT = lazy_pattern(r"_\{(\w+)\}")
_EXPONENT = lazy_pattern(r"\^\{([^{}]+)\}")
# No thousands begin with a zero.
_DECIMAL_COMMA = lazy_pattern(r"(?<![\d,.])(?:(0),(\d+)|(\d+),(\d{1,2}))(?![\d,])")
_SPELLED = lazy_pattern(rf"\b{SPELLED}\b", re.I)
# Smaller numbers in words are more often pronouns, articles or counts.
_COUNTED = 12
_DIGIT = "zero|one|two|three|four|five|six|seven|eight|nine"
# "twenty-three point two five"
_POINT = lazy_pattern(rf"\b(zero|{SPELLED}) point ((?:(?:{_DIGIT})\b ?)+)", re.I)
_DIGITS = {word: str(digit) for digit, word in enumerate(_DIGIT.split("|"))}
_OPERATIONS = {"times": "×", "multiplied by": "×", "divided by": "/", "plus": "+", "minus": "-"}
_OPERATION = lazy_pattern(rf"(?<=\d)\s+({'|'.join(_OPERATIONS)})\s+(?=\d)", re.I)


def plain(text: str) -> str:
    text = without_markup(text).replace("{,}", ",").replace("~", " ")
    text = _EXPONENT.sub(r"^(\1)", _SUBSCRIPT.sub(r"_\1", text))
    while (simpler := _FRACTION.sub(r"((\1)/(\2))", text)) != text:
        text = simpler
    text = _COMMAND.sub(lambda found: _GREEK.get(found[1], _SIGNS.get(found[1], found[1])), text)
    text = _POINT.sub(_with_decimals, text)
    text = _OPERATION.sub(lambda found: f" {_OPERATIONS[found[1].lower()]} ", _SPELLED.sub(_in_digits, text))
    text = _DECIMAL_COMMA.sub(lambda found: f"{found[1] or found[3]}.{found[2] or found[4]}", text)
    return " ".join(text.split())


def _with_decimals(found: re.Match[str]) -> str:
    whole = 0.0 if found[1].lower() == "zero" else value_of(found[1])[0]
    return f"{whole:.0f}.{''.join(_DIGITS[word] for word in found[2].lower().split())} "


def _in_digits(found: re.Match[str]) -> str:
    value, _ = value_of(found[0])
    return format_exact(value) if value > _COUNTED or value != int(value) else found[0]
