"""Loads a recipe's prompt files and fills in their slots."""

import functools
import hashlib
import re
import string
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from soliloquy.recipes.prompt_checks import (
    ANY,
    MESSAGE,
    Kind,
    lost_parts,
    sampling_faults,
    slot_faults,
    table_faults,
    text_faults,
)
from soliloquy.recipes.prompts import BadPromptText, files_of, read_text, texts_in
from soliloquy.runtime.ask import Prompt
from soliloquy.runtime.failure import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Turn

P = TypeVar("P")

# Sets of changed prompts that a process keeps ready, of at most 32 KiB each.
_REMEMBERED = 64
# How freely a model answers, by prompt; an optional file of each folder. Other prompts are sampled as their role is.
_SAMPLING = "sampling"
# The messages of a conversation in a prompt.
_TRANSCRIPT = re.compile(r"<(conversation|history)>\n(.*?)\n</\1>", re.DOTALL)
# Lines of the latest exchange: a message, and what it answers.
_EXCHANGE = 2


class Templates:
    """The prompt files of a folder; a slot is written $question, a literal dollar $$."""

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
        self.files = files_of(folder)
        self.slots = slots
        is_sampled = f"{_SAMPLING}.toml" in self.files
        self.tables = {**tables, **({_SAMPLING: {ANY: float}} if is_sampled else {})}
        self.recipe = recipe or folder.parent.name
        # Each process reads the files once; edits apply to the next one.
        self.own = Texts(self, {})
        # Returns the texts of a language; raises BrokenPrompt.
        self.in_language = functools.cache(lambda language: self.of(texts_in(language, folder)))
        self._changed = functools.lru_cache(_REMEMBERED)(lambda changed: self._checked(Texts(self, dict(changed))))

    def of(self, changed: Mapping[str, str]) -> "Texts":
        """Returns the texts of a run: its changed files, and the folder's own for all others; raises BrokenPrompt."""
        return self._changed(frozenset(changed.items())) if changed else self.own

    def fingerprints(self, changed: Mapping[str, str]) -> dict[str, str]:
        """Returns a hash of each file, which identifies a dataset's prompts; raises BrokenPrompt for a bad file."""
        self._checked(self.of(changed))
        contents = {name: path.read_bytes() for name, path in self.files.items()}
        contents |= {file: text.encode() for file, text in changed.items()}
        return {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}

    def _checked(self, texts: "Texts") -> "Texts":
        for name, slots in self.slots.items():
            text = texts.text(name)
            texts.refuse(f"{name}.txt", chain(text_faults(text, slots), lost_parts(text, self.own.text(name))))
        for name in self.tables:
            texts.refuse(f"{name}.toml", slot_faults(texts.table(name), self.own.table(name)))
        prompts = [path.stem for path in self.files.values() if path.suffix == ".txt"]
        texts.refuse(f"{_SAMPLING}.toml", sampling_faults(texts.temperatures, prompts))
        return texts


class Texts:
    """The texts of prompt files, ready to be filled in."""

    def __init__(self, templates: Templates, changed: Mapping[str, str]) -> None:
        self._templates = templates
        self._changed = changed
        self.text = functools.cache(self._read)
        self.table = functools.cache(self._parse)
        self._sections = functools.cache(self._split)

    def prompt(self, state: str, **slots: str) -> Prompt:
        said = [(role, text % slots) for role, text in self._sections(state)]
        temperature = self.temperatures.get(state, 0.0)
        return Prompt(name=f"{self._templates.recipe}/{state}", said=said, temperature=temperature, slots=slots)

    @functools.cached_property
    def temperatures(self) -> Mapping[str, float]:
        return self.table(_SAMPLING) if _SAMPLING in self._templates.tables else {}

    def fill(self, name: str, **slots: str) -> str:
        return _percent_format(self.text(name)) % slots

    def refuse(self, file: str, faults: Iterator[str]) -> None:
        """Raises BadPromptText for the first fault."""
        for fault in faults:
            raise BadPromptText(f"{self._named(file)}: {fault}")

    def _parse(self, name: str) -> Mapping[str, Any]:
        file, tables = f"{name}.toml", self._templates.tables
        try:
            table = tomllib.loads(self._content(file))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise BadPromptText(f"{self._named(file)}: is not TOML ({error})") from error
        self.refuse(file, table_faults(table, tables[name]) if name in tables else iter(()))
        return table

    def _split(self, state: str) -> list[tuple[str, str]]:
        sections = MESSAGE.split(self.text(state))
        return [
            (role, _percent_format(text.strip())) for role, text in zip(sections[1::2], sections[2::2], strict=True)
        ]

    def _read(self, name: str) -> str:
        return self._content(f"{name}.txt").rstrip("\n")

    def _content(self, file: str) -> str:
        changed = self._changed.get(file)
        return read_text(self._templates.files[file], self._named(file)) if changed is None else changed

    def _named(self, file: str) -> str:
        own = f"recipe {self._templates.recipe}: prompt {self._templates.folder.name}/{file}"
        return file if file in self._changed else own


def persona_in(table: Mapping[str, P], conversation: Conversation) -> P:
    """Returns what a recipe's table says of the student's persona; raises Refused for a persona that it lacks."""
    if conversation.persona in table:
        return table[conversation.persona]
    name = conversation.run.recipe
    raise Refused(f"the recipe {name!r} has no persona {conversation.persona[:80]!r}: use one of {', '.join(table)}")


def one_line(text: str) -> str:
    return " ".join(text.split())


def transcript(turns: Sequence[Turn], *, for_reply: bool = False) -> str:
    """Returns the messages as lines of a prompt; the prompt for a reply ends with the student's latest message."""
    lines = [line for turn in turns for line in _lines(turn)]
    if for_reply and turns and turns[-1].HasField("tutor"):
        lines.pop()
    return "\n".join(lines)


def latest_exchange(prompt: str) -> str:
    """Returns a prompt without the messages before the latest exchange: a faulty answer is there to be corrected."""
    return _TRANSCRIPT.sub(_end, prompt)


def _end(found: re.Match[str]) -> str:
    tag, lines = found[1], found[2].splitlines()
    return found[0] if len(lines) <= _EXCHANGE else "\n".join([f"<{tag}>", "[..]", *lines[-_EXCHANGE:], f"</{tag}>"])


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
