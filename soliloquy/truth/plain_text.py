"""Rewrites LaTeX, Markdown and continental decimals as the readers of numbers and formulas expect them."""

import re

from soliloquy.truth.markup import without_markup
from soliloquy.truth.number_format import format_exact
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.patterns import lazy_pattern

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
_DECIMAL_COMMA = lazy_pattern(r"[-−]?(?:0,\d+|\d+,\d{1,2})")
# Smaller numbers in words are more often pronouns, articles or counts.
_COUNTED = 12
_OPERATIONS = {"times": "×", "multiplied by": "×", "divided by": "/", "plus": "+", "minus": "-"}
_OPERATION = lazy_pattern(rf"(?<=\d)\s+({'|'.join(_OPERATIONS)})\s+(?=\d)", re.I)


def plain(text: str) -> str:
    text = without_markup(text).replace("{,}", ",").replace("~", " ")
    text = _EXPONENT.sub(r"^(\1)", _SUBSCRIPT.sub(r"_\1", text))
    while (simpler := _FRACTION.sub(r"((\1)/(\2))", text)) != text:
        text = simpler
    text = _COMMAND.sub(lambda found: _GREEK.get(found[1], _SIGNS.get(found[1], found[1])), text)
    text = _OPERATION.sub(lambda found: f" {_OPERATIONS[found[1].lower()]} ", _in_digits(text))
    return " ".join(text.split())


def _in_digits(text: str) -> str:
    """Writes numbers in words and in the manner of other countries as English mathematics does."""
    parts, end = [], 0
    for number in numbers_in(text):
        said = text[number.start : number.end]
        if (number.spelled and (number.value > _COUNTED or number.value % 1)) or _DECIMAL_COMMA.fullmatch(said):
            parts += [text[end : number.start], format_exact(number.value)]
            end = number.end
    return "".join([*parts, text[end:]])
