"""The common types of all readers: rows, rejected rows, and unreadable sources."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from soliloquy.problems.files.reading.familiar_rows import our_names
from soliloquy.runtime.failure import Failure


class UnreadableSource(Failure):
    """A source cannot be read; the message names the file and what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceRow:
    # "train.csv:12" for a file with lines, else "train.parquet row 12".
    place: str
    cells: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedRow:
    place: str
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.field}: {self.reason}"


# The columns of a source that an error lists.
_MOST_NAMES = 30
# Columns of which one must be there.
Alternatives = Sequence[str]


def require_columns(place: object, needed: Iterable[Alternatives], names: Iterable[str]) -> None:
    if missing := missing_column(needed, list(names)):
        raise UnreadableSource(f"{place}: {missing}")


def missing_column(needed: Iterable[Alternatives], there: Collection[str]) -> str:
    """Returns what is to be said of a column that is missing; empty if none is."""
    ours = our_names(there)
    for columns in needed:
        if not any(column in ours for column in columns):
            missing = " and no column ".join(map(repr, columns))
            known = [repr(name)[:40] for name in there]
            more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
            listed = ", ".join(known[:_MOST_NAMES]) or "none"
            return f"no column {missing}; there are: {listed}{more}; --columns OURS=THEIRS,.. says which is which"
    return ""


# A row with a dialogue has about ten thousand characters.
LONGEST_LINE = 1_048_576
# UTF-32 first: its byte order mark begins with that of UTF-16.
MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


# So many bytes tell how a text ends its lines.
_START = 65_536


class TextLine(NamedTuple):
    number: int
    text: str
    # The reason that the text cannot be used; empty if it can.
    flaw: str = ""


def lines(path: Path) -> Iterator[TextLine]:
    number = 0
    with open_text(path) as file:
        while True:
            number += 1
            try:
                text = file.readline(LONGEST_LINE + 1)
                whole = len(text) <= LONGEST_LINE or _skip_to_end(file, text)
            except UnicodeDecodeError as error:
                # In UTF-16 the start of the next character is unknown after an error.
                yield TextLine(
                    number=number, text="", flaw=f"is not {error.encoding}: {error.reason}; reading ends here"
                )
                return
            if not text:
                return
            if whole:
                yield TextLine(number=number, text=text, flaw=flaw_of(text))
            else:
                yield TextLine(number=number, text="", flaw=f"is longer than {LONGEST_LINE:,} characters")


def open_text(path: Path) -> TextIO:
    """Opens a text as UTF-16 if its byte order mark says so, else as UTF-8; invalid bytes become surrogates."""
    try:
        if not path.is_file() and path.exists() and not path.is_dir():
            # A pipe may never send, a device may never end, and a problem file is read more than once.
            raise UnreadableSource(f"{path}: is a pipe or a device: save what it sends as a file")
        with path.open("rb") as file:
            start = file.read(_START)
        encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8-sig")
        if encoding == "utf-32":
            raise UnreadableSource(f"{path}: is UTF-32: save it as UTF-8")
        errors = "surrogatepass" if encoding == "utf-16" else "surrogateescape"
        # Split at line feeds only: texts may contain the other line separators of Unicode. Old spreadsheets write none.
        text = start.decode(encoding, "ignore")
        newline = None if "\r" in text and "\n" not in text else "\n"
        return path.open(encoding=encoding, errors=errors, newline=newline)
    except OSError as error:
        raise UnreadableSource(f"{path}: cannot be read: {error.strerror}") from error


def flaw_of(text: str) -> str:
    if "\0" in text:
        return "holds a NUL character"
    if text.isascii():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        odd = ord(text[error.start])
        if 0xDC80 <= odd <= 0xDCFF:
            return f"holds the byte 0x{odd - 0xDC00:02X}, which is not UTF-8: save the file as UTF-8"
        return f"holds the lone surrogate U+{odd:04X}"
    return ""


def _skip_to_end(file: TextIO, text: str) -> bool:
    """Returns False for a line that is longer than `text`, after skipping the rest of it."""
    if text.endswith("\n"):
        return True
    while text and not text.endswith("\n"):
        text = file.readline(LONGEST_LINE)
    return False
