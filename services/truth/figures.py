"""How numbers are rounded and written, so that a text and the value beside it agree."""

SIGNIFICANT_DIGITS = 5
_SIGNIFICANT = f".{SIGNIFICANT_DIGITS}g"
# From here on a number is easier to read with an exponent.
LONGEST_PLAIN = 1e7
# Beyond this, and below its inverse, slips and roundings would overflow.
LARGEST = 1e100


def is_workable(value: float) -> bool:
    """Whether a number leaves room to calculate with; zero does."""
    return value == 0 or 1 / LARGEST < abs(value) < LARGEST


def tidy(value: float) -> float:
    """The value as a textbook would carry it on to the next step."""
    return float(format(value, _SIGNIFICANT))


def written(value: float) -> str:
    """A number as text that `float` reads back, with none of a binary fraction's noise."""
    plain = f"{value:.10g}"
    if "e" not in plain and abs(value) < LONGEST_PLAIN:
        return plain
    mantissa, exponent = f"{value:.9e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def with_unit(value: float, unit: str) -> str:
    return before_unit(written(value), unit)


def before_unit(number: str, unit: str) -> str:
    return f"{number} {unit}" if unit else number
