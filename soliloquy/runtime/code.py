"""Code and variable names as models and people write them: fenced in any way, listed in one string."""

import re
import unicodedata

_FENCE = r"(?:`{1,3}|~{3})"
# A block with an info word of any language, or a fence with the code beside it.
_BLOCK = re.compile(
    r"^\s*(?:`{3,}|~{3,})[^\S\n]*[\w.+#-]*[^\S\n]*\n(.*?)\s*(?:`{3,}|~{3,})\s*(?:python)?\s*$", re.S | re.I
)
_FENCED = re.compile(rf"^\s*{_FENCE}\s*(?:python3?\b|py\b)?[^\S\n]*\n?(.*?)\s*{_FENCE}\s*(?:python)?\s*$", re.S | re.I)
_STRAY = re.compile(
    rf"^\s*{_FENCE}?\s*python3?[^\S\n]*\n|^\s*{_FENCE}(?:[\w.+#-]*[^\S\n]*\n)?|{_FENCE}\s*(?:python)?\s*$", re.I
)
_BETWEEN_NAMES = re.compile(r"[\s,;`\"'\[\]()]+")


def unfenced(code: str) -> str:
    """Code without its fence: backticks or tildes, any language, at both ends, at one, or not at all."""
    inner = _BLOCK.match(code) or _FENCED.match(code)
    bare = inner[1] if inner else _STRAY.sub("", code)
    return bare.strip("\r\n").rstrip()


def names(listed: str) -> list[str]:
    """The names of a list such as "a, b" or "['a', 'b']"."""
    return [name for name in _BETWEEN_NAMES.split(listed) if name]


def identifier(name: str) -> str:
    """The name as Python spells it, which takes "µ" (the sign) and "μ" (the letter) for one."""
    return unicodedata.normalize("NFKC", name)
