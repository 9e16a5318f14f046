"""Keeps LaTeX in JSON strings as it was written: a model that writes "\\frac" seldom means a form feed and "rac"."""

import re
from pathlib import Path

# Commands that begin like an escape of JSON. Without their first letter they are no words, so the escape cannot be
# meant; "u", "e" and "i" may be a variable at the start of a line.
_COMMANDS = frozenset(Path(__file__).with_name("latex_commands.txt").read_text("utf-8").split())
_IN_FORMULAS = frozenset(["nu", "ne", "ni"])
_ESCAPE = re.compile(r"\\(\\|[\"/]|u[0-9a-fA-F]{4}|[A-Za-z]+|.)", re.DOTALL)
_UNICODE = re.compile(r"u[0-9a-fA-F]{4}")
_FORMULA = re.compile(r"\$[^$\n]+\$|\\{1,2}\(.+?\\{1,2}\)|\\{1,2}\[.+?\\{1,2}\]")


def kept_latex(text: str) -> str:
    """Doubles each backslash that begins a LaTeX command or no escape at all."""
    if "\\" not in text:
        return text
    formulas = [found.span() for found in _FORMULA.finditer(text)]

    def write(escape: re.Match[str]) -> str:
        in_formula = any(start <= escape.start() < end for start, end in formulas)
        return escape[0] if _is_escape(escape[1], in_formula=in_formula) else "\\" + escape[0]

    return _ESCAPE.sub(write, text)


def kept_backslashes(text: str) -> str:
    """Doubles each backslash that begins no escape, as code in a JSON string needs it."""
    return _ESCAPE.sub(lambda escape: escape[0] if _opens_escape(escape[1]) else "\\" + escape[0], text)


def _is_escape(following: str, *, in_formula: bool) -> bool:
    if following[0] in "bf" or following in _COMMANDS or (in_formula and following in _IN_FORMULAS):
        return False
    return _opens_escape(following)


def _opens_escape(following: str) -> bool:
    return following[0] in "\\\"'/bfnrt\n" or _UNICODE.fullmatch(following) is not None
