"""Loads a recipe's prompt files and fills in their slots."""

import functools
import hashlib
import re
import string
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from soliloquy.recipes.prompt_checks import Kind, table_faults, text_faults
from soliloquy.runtime.ask import BrokenPrompt, Prompt
from soliloquy.v1.conversation_pb2 import Turn


class Templates:
    """The files of a folder of prompts; a slot is written $question, a literal dollar $$."""

    def __init__(
        self,
        folder: Path,
        slots: Mapping[str, Collection[str]],
        tables: Mapping[str, Kind] = {},
        *,
        recipe: str = "",
    ) -> None:
        """Names the slots of each text and the keys of each table; the recipe is the folder's parent by default."""
        self.folder = folder
        self._slots = slots
        self._tables = tables
        self._recipe = recipe or folder.parent.name
        # Each process reads its prompts once; edits apply to the next one.
        self._text = functools.cache(self._read)
        self._sections = functools.cache(self._split)
        self.table = functools.cache(self._parse)

    def prompt(self, state: str, **slots: str) -> Prompt:
        said = [(role, text % slots) for role, text in self._sections(state)]
        return Prompt(name=f"{self._recipe}/{state}", said=said)

    def fill(self, name: str, **slots: str) -> str:
        return _percent_format(self._text(name)) % slots

    def _parse(self, name: str) -> Mapping[str, Any]:
        """Loads a TOML file of the folder."""
        try:
            return tomllib.loads(self._content(f"{name}.toml"))
        except tomllib.TOMLDecodeError as error:
            raise BrokenPrompt(f"{self._named(f'{name}.toml')}: is not TOML ({error})") from error

    def fingerprints(self) -> dict[str, str]:
        """Returns a hash of each file, which identifies a dataset's prompts; raises BrokenPrompt for a bad file."""
        faults = {f"{name}.txt": text_faults(self._text(name), slots) for name, slots in self._slots.items()}
        faults |= {f"{name}.toml": table_faults(self.table(name), kind) for name, kind in self._tables.items()}
        for file, found in faults.items():
            if fault := next(found, ""):
                raise BrokenPrompt(f"{self._named(file)}: {fault}")
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(self.folder.iterdir())}

    def _split(self, state: str) -> list[tuple[str, str]]:
        sections = re.split(r"^\[(system|user)\]\n", self._text(state), flags=re.MULTILINE)
        return [
            (role, _percent_format(text.strip())) for role, text in zip(sections[1::2], sections[2::2], strict=True)
        ]

    def _read(self, name: str) -> str:
        return self._content(f"{name}.txt").rstrip("\n")

    def _content(self, file: str) -> str:
        try:
            return (self.folder / file).read_text("utf-8")
        except OSError as error:
            raise BrokenPrompt(f"{self._named(file)}: cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise BrokenPrompt(f"{self._named(file)}: is not UTF-8 (byte {error.start}): save it as UTF-8") from error

    def _named(self, file: str) -> str:
        return f"recipe {self._recipe}: prompt {self.folder.name}/{file}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def transcript(turns: Sequence[Turn], *, for_reply: bool = False) -> str:
    """Returns the messages as lines of a prompt; the prompt for a reply ends with the student's latest message."""
    lines = [line for turn in turns for line in _lines(turn)]
    if for_reply and turns and turns[-1].HasField("tutor"):
        lines.pop()
    return "\n".join(lines)


def _lines(turn: Turn) -> Iterator[str]:
    if turn.HasField("student"):
        yield f"Student: {one_line(turn.student.text)}"
    if turn.HasField("tutor"):
        yield f"Tutor: {one_line(turn.tutor.text)}"


def fill(template: str, **slots: str) -> str:
    return _percent_format(template) % slots


@functools.cache
def _percent_format(template: str) -> str:
    """Converts a string.Template to the % format, which fills in many times as fast."""
    text, end = "", 0
    for found in string.Template.pattern.finditer(template):
        text += template[end : found.start()].replace("%", "%%")
        name = found["named"] or found["braced"]
        text += f"%({name})s" if name else "$"
        end = found.end()
    return text + template[end:].replace("%", "%%")
