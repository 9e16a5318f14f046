"""Cleans up code and variable names as models and people write them."""

import re
import unicodedata

_FENCE = r"(?:`{1,3}|~{3})"
# A fenced block with any info string, or a fence with code on the same line.
_BLOCK = re.compile(
    r"^\s*(?:`{3,}|~{3,})[^\S\n]*[\w.+#-]*[^\S\n]*\n(.*?)\s*(?:`{3,}|~{3,})\s*(?:python)?\s*$", re.S | re.I
)
_FENCED = re.compile(rf"^\s*{_FENCE}\s*(?:python3?\b|py\b)?[^\S\n]*\n?(.*?)\s*{_FENCE}\s*(?:python)?\s*$", re.S | re.I)
_STRAY = re.compile(
    rf"^\s*{_FENCE}?\s*python3?[^\S\n]*\n|^\s*{_FENCE}(?:[\w.+#-]*[^\S\n]*\n)?|{_FENCE}\s*(?:python)?\s*$", re.I
)
_BETWEEN_NAMES = re.compile(r"[\s,;`\"'\[\]()]+")


def unfenced(code: str) -> str:
    """Strips the fence from code: backticks or tildes, any language, at both ends, one end or neither."""
    inner = _BLOCK.match(code) or _FENCED.match(code)
    bare = inner[1] if inner else _STRAY.sub("", code)
    return bare.strip("\r\n").rstrip()


def names(listed: str) -> list[str]:
    """Splits a list of names such as "a, b" or "['a', 'b']"."""
    return [name for name in _BETWEEN_NAMES.split(listed) if name]


def identifier(name: str) -> str:
    """Normalises a name as Python does: "µ" (the sign) and "μ" (the letter) become the same."""
    return unicodedata.normalize("NFKC", name)
