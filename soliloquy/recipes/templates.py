"""Prompt files with slots: a recipe's folder of them, each filled in for one state."""

import functools
import hashlib
import re
import string
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from soliloquy.runtime.ask import BrokenPrompt, Prompt


class Templates:
    """The files of a folder `<recipe>/prompts`; a slot is written $question, a literal dollar $$."""

    def __init__(self, folder: Path, slots: Mapping[str, Collection[str]]) -> None:
        self.folder = folder
        self._slots = slots
        self._recipe = folder.parent.name
        # A process reads its prompts once; an edit is for the next one.
        self._text = functools.cache(self._read)
        self._sections = functools.cache(self._parted)

    def prompt(self, state: str, **slots: str) -> Prompt:
        said = [(role, text % slots) for role, text in self._sections(state)]
        return Prompt(name=f"{self._recipe}/{state}", said=said)

    def fill(self, name: str, **slots: str) -> str:
        return _compiled(self._text(name)) % slots

    def table(self, name: str) -> Mapping[str, Any]:
        """What a TOML file of the folder holds."""
        return tomllib.loads((self.folder / f"{name}.toml").read_text("utf-8"))

    def fingerprints(self) -> dict[str, str]:
        """A hash of each prompt file: a dataset is grown with one set of prompts."""
        for name, slots in self._slots.items():
            template = string.Template(self._text(name))
            unknown = sorted(set(template.get_identifiers()) - set(slots))
            if unknown or not template.is_valid():
                wrong = f"${unknown[0]} stands for nothing" if unknown else "a lone $ must be written $$"
                known = ", ".join(sorted(slots))
                raise BrokenPrompt(f"prompt {self.folder.name}/{name}.txt: {wrong}; its slots are {known}")
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(self.folder.iterdir())}

    def _parted(self, state: str) -> list[tuple[str, str]]:
        sections = re.split(r"^\[(system|user)\]\n", self._text(state), flags=re.MULTILINE)
        return [(role, _compiled(text.strip())) for role, text in zip(sections[1::2], sections[2::2], strict=True)]

    def _read(self, name: str) -> str:
        return (self.folder / f"{name}.txt").read_text("utf-8").rstrip("\n")


def one_line(text: str) -> str:
    return " ".join(text.split())


def fill(template: str, **slots: str) -> str:
    return _compiled(template) % slots


@functools.cache
def _compiled(template: str) -> str:
    """For the % operator: what string.Template would put together, many times as fast."""
    text, end = "", 0
    for found in string.Template.pattern.finditer(template):
        text += template[end : found.start()].replace("%", "%%")
        name = found["named"] or found["braced"]
        text += f"%({name})s" if name else "$"
        end = found.end()
    return text + template[end:].replace("%", "%%")
