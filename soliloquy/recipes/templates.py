"""Loads a recipe's prompt files and fills in their slots."""

import functools
import hashlib
import string
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from soliloquy.recipes.prompt_checks import MESSAGE, Kind, lost_parts, slot_faults, table_faults, text_faults
from soliloquy.recipes.prompts import BrokenPrompt, Prompts, prompts_for, read_text
from soliloquy.runtime.ask import Prompt
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
        self._table = functools.cache(self._parse)

    def prompt(self, state: str, **slots: str) -> Prompt:
        said = [(role, text % slots) for role, text in self._sections(state, self._prompts)]
        return Prompt(name=f"{self._recipe}/{state}", said=said)

    def fill(self, name: str, **slots: str) -> str:
        return _percent_format(self._text(name, self._prompts)) % slots

    def table(self, name: str) -> Mapping[str, Any]:
        """Returns the content of a TOML file; raises BrokenPrompt for a wrong key or type."""
        return self._table(name, self._prompts)

    @property
    def _prompts(self) -> Prompts | None:
        return prompts_for(self.folder)

    def _parse(self, name: str, prompts: Prompts | None) -> Mapping[str, Any]:
        file = f"{name}.toml"
        try:
            table = tomllib.loads(self._content(file, prompts))
        except tomllib.TOMLDecodeError as error:
            raise BrokenPrompt(f"{self._named(file, prompts)}: is not TOML ({error})") from error
        self._refuse(file, prompts, table_faults(table, self._tables[name]) if name in self._tables else iter(()))
        return table

    def fingerprints(self) -> dict[str, str]:
        """Returns a hash of each file, which identifies a dataset's prompts; raises BrokenPrompt for a bad file."""
        prompts = self._prompts
        for name, slots in self._slots.items():
            text, own = self._text(name, prompts), self._text(name, None)
            self._refuse(f"{name}.txt", prompts, chain(text_faults(text, slots), lost_parts(text, own)))
        for name in self._tables:
            self._refuse(f"{name}.toml", prompts, slot_faults(self._table(name, prompts), self._table(name, None)))
        if prompts:
            return {file: hashlib.sha256(text.encode()).hexdigest() for file, text in prompts.texts}
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(self.folder.iterdir())}

    def _refuse(self, file: str, prompts: Prompts | None, faults: Iterator[str]) -> None:
        for fault in faults:
            raise BrokenPrompt(f"{self._named(file, prompts)}: {fault}")

    def _split(self, state: str, prompts: Prompts | None) -> list[tuple[str, str]]:
        sections = MESSAGE.split(self._text(state, prompts))
        return [
            (role, _percent_format(text.strip())) for role, text in zip(sections[1::2], sections[2::2], strict=True)
        ]

    def _read(self, name: str, prompts: Prompts | None) -> str:
        return self._content(f"{name}.txt", prompts).rstrip("\n")

    def _content(self, file: str, prompts: Prompts | None) -> str:
        return dict(prompts.texts)[file] if prompts else read_text(self.folder / file, self._named(file, None))

    def _named(self, file: str, prompts: Prompts | None) -> str:
        return f"{prompts.origin}/{file}" if prompts else f"recipe {self._recipe}: prompt {self.folder.name}/{file}"


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
