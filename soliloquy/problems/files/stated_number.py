"""An answer that is nothing but a number: "72", "1,200", "$5", "40%", "1/2"."""

import re

_NUMBER = re.compile(
    r"\s*(?P<sign>[-−+]?)\s*\$?\s*(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?P<power>[eE][-+]?\d+)?"
    r"(?:\s*/\s*(?P<below>\d+))?\s*(?P<percent>%?)\s*\.?\s*"
)
# What tables write where there is no number, and what overflows.
_NOT_FINITE = re.compile(r"\s*[-+]?(?:nan|inf|infinity)\s*", re.IGNORECASE)


def stated_number(text: str) -> tuple[float, str] | None:
    """The number and its unit; None where the text is anything else, and no finite number where it says so."""
    if _NOT_FINITE.fullmatch(text):
        return float(text), ""
    match = _NUMBER.fullmatch(text)
    if match is None or (match["below"] and not int(match["below"])):
        return None
    value = float(match["digits"].replace(",", "") + (match["power"] or "")) / int(match["below"] or 1)
    return -value if match["sign"] in ("-", "−") else value, match["percent"]
