"""Numbers as people write them in a sentence."""

import re

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_NUMBER = re.compile(
    r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    r"(?:[eE][-+]?\d+|\s*[×x*·]\s*10\s*\^?\s*(?P<power>[-−]?\d+|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+))?(?!\d)"
)


def numbers_in(text: str) -> list[float]:
    """Every number of a text: signs, thousands separators and powers of ten understood."""
    found = []
    for match in _NUMBER.finditer(text):
        power = match["power"]
        mantissa = match[0] if power is None else re.split(r"\s*[×x*·]", match[0])[0]
        value = float(mantissa.replace(",", "").replace("−", "-"))
        if power is not None:
            value *= 10.0 ** int(power.translate(_SUPERSCRIPTS).replace("−", "-"))
        found.append(value)
    return found
