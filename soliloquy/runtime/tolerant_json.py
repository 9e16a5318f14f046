"""Reads JSON objects as real models write them.

Accepts Python literals, comments, smart quotes, triple quotes, keys without quotes, quotes inside of texts, and missing
commas and closing braces. Rejects a text that stops inside a string: it lacks content, not punctuation. The library
json-repair was measured: it takes a truncated string as complete, and drops what follows an inner triple quote."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MAX_DEPTH = 40
# How many braces of a text may begin an object.
_MAX_STARTS = 200
_BLANK = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[^\s,:{}\[\]()\"'“”]+")
_KEY = re.compile(r"[^\W\d][\w -]*(?=\s*:)")
# The opening quotes with those that close them; longer ones first.
_QUOTES = {'"""': '"""', "'''": "'''", "```": "```", '"': '"', "'": "'", "“": "”", "‘": "’"}
_OPENING = re.compile("|".join(_QUOTES))
_AFTER_KEY = re.compile(r"\s*:")
# A value's closing quote is followed by the end, or by a comma and the next key.
_AFTER_VALUE = re.compile(
    r"""\s*(?:[}\])]|`*\s*\Z|//|\#|/\*|,\s*(?:["'“‘}\])]|[^\W\d][\w -]*\s*:|//|\#|/\*|`*\s*\Z))|\n\s*["'“‘]"""
)
_AFTER_ITEM = re.compile(r"\s*(?:[,}\])]|`*\s*\Z|\n|//|\#|/\*)")
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": None, "undefined": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
_CLOSING = {"{": "}", "[": "]", "(": ")"}


class NotJson(Exception):
    """No value begins here."""


class Truncated(NotJson):
    """The text stops inside a string."""


def objects_in(text: str) -> Iterator[dict[str, Any] | Truncated]:
    """Yields the objects of a text in order, without those inside of another; a truncated last one as its fault."""
    start = -1
    end = 0
    for _ in range(_MAX_STARTS):
        start = text.find("{", max(end, start + 1))
        if start < 0:
            return
        try:
            value, end = _Parser(text).value(start, _AFTER_ITEM, 0)
        except Truncated as truncated:
            yield truncated
            return
        except NotJson:
            continue
        else:
            yield value


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int, after: re.Pattern[str], depth: int) -> tuple[Any, int]:
        """Returns the value that begins at the position, and where it ends."""
        if depth > _MAX_DEPTH:
            raise NotJson
        at = self._skip(at)
        opening = self._text[at : at + 1]
        if opening == "{":
            return self._object(at + 1, depth)
        if opening in ("[", "("):
            return self._array(at + 1, _CLOSING[opening], depth)
        if _OPENING.match(self._text, at):
            return self._string(at, after)
        return self._word(at)

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while (at := self._next(at, "}")) < len(self._text):
            if self._text[at] == "}":
                return found, at + 1
            key, at = self._key(at)
            if key in found:
                raise NotJson
            found[key], at = self.value(at, _AFTER_VALUE, depth + 1)
        return found, at

    def _array(self, at: int, closing: str, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while (at := self._next(at, closing)) < len(self._text):
            if self._text[at] == closing:
                return found, at + 1
            item, at = self.value(at, _AFTER_ITEM, depth + 1)
            found.append(item)
        return found, at

    def _key(self, at: int) -> tuple[str, int]:
        if _OPENING.match(self._text, at):
            key, at = self._string(at, _AFTER_KEY)
        elif bare := _KEY.match(self._text, at):
            key, at = bare[0].strip(), bare.end()
        else:
            raise NotJson
        at = self._skip(at)
        if self._text[at : at + 1] != ":":
            raise NotJson
        return key, at + 1

    def _string(self, at: int, after: re.Pattern[str]) -> tuple[str, int]:
        opening = _OPENING.match(self._text, at)
        assert opening
        closing = _QUOTES[opening[0]]
        pieces: list[str] = []
        begin = at = opening.end()
        stop = re.compile(rf"\\|{closing}" + ('|"' if closing == "”" else ""))
        while found := stop.search(self._text, at):
            if found[0] == "\\":
                pieces.append(self._text[begin : found.start()])
                piece, begin = self._escape(found.end())
                pieces.append(piece)
                at = begin
            elif after.match(self._text, found.end()):
                pieces.append(self._text[begin : found.start()])
                return "".join(pieces), found.end()
            else:
                at = found.end()
        raise Truncated("the answer stops in the middle of a text")

    def _escape(self, at: int) -> tuple[str, int]:
        """Decodes what follows a backslash."""
        letter = self._text[at : at + 1]
        width = {"u": 4, "x": 2, "U": 8}.get(letter)
        if width is None:
            return _ESCAPES.get(letter, letter), at + 1
        digits = self._text[at + 1 : at + 1 + width]
        # A character beyond 16 bits takes two escapes.
        if letter == "u" and (pair := re.match(r"\\u[dD][c-fC-F][\da-fA-F]{2}", self._text[at + 5 : at + 11])):
            digits += pair[0]
        try:
            code = f"\\u{digits}" if letter == "u" else f"\\u{int(digits, 16):04x}"
            return (json.loads(f'"{code}"'), at + 1 + len(digits)) if letter != "U" else (chr(int(digits, 16)), at + 9)
        except (ValueError, OverflowError) as error:
            raise NotJson from error

    def _word(self, at: int) -> tuple[Any, int]:
        word = _WORD.match(self._text, at)
        if word is None:
            raise NotJson
        if word[0].lower() in _WORDS:
            return _WORDS[word[0].lower()], word.end()
        try:
            return json.loads(word[0].lstrip("+")), word.end()
        except (ValueError, RecursionError) as error:
            raise NotJson from error

    def _next(self, at: int, closing: str) -> int:
        """Skips the comma before the next item; what a fence or the end of the text closes is closed."""
        at = self._skip(at)
        if self._text[at : at + 1] == ",":
            at = self._skip(at + 1)
        if self._text.startswith("```", at) and closing == "}":
            return len(self._text)
        return at

    def _skip(self, at: int) -> int:
        blank = _BLANK.match(self._text, at)
        return blank.end() if blank else at


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
