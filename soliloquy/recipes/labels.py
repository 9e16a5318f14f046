"""Defines what a recipe adds to the contract, its labels, and how people read them."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.message import DecodeError, Message

from soliloquy.recipes.packages import DEFAULT, has_part, known_recipes, load, part
from soliloquy.runtime.failure import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Enrichment, Problem, StudentReply, Turn, TutorReply

Labelled = Conversation | Problem | Enrichment | Turn | StudentReply | TutorReply

# The `labels` of the contract as columns of a dataset's rows, by their place.
PATHS = {
    "conversation": "labels",
    "problem": "problem.labels",
    "enrichment": "problem.enrichment.labels",
    "turn": "turns.labels",
    "student": "turns.student.labels",
    "tutor": "turns.tutor.labels",
}
_BLOCK = re.compile(r"(message|enum|oneof)\s+(\w+)\s*\{([^{}]*)\}")
_FIELD = re.compile(r"(\w+)\s*=\s*(\d+)\s*[;\[]")
# The parts of every reply, which a column may describe, too.
OF_EVERY_REPLY = ("tutor.thoughts", "tutor.evaluation", "tutor.text")


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The messages that a recipe puts into the `labels` of the contract, by the place that they belong to."""

    conversation: type[Message] | None = None
    problem: type[Message] | None = None
    enrichment: type[Message] | None = None
    turn: type[Message] | None = None
    student: type[Message] | None = None
    tutor: type[Message] | None = None

    def check(self, conversation: Conversation) -> None:
        """Raises Refused for labels that are no messages of these types: no row could hold them."""
        for place, one in places(conversation):
            kind = getattr(self, place)
            try:
                if kind:
                    kind.FromString(one.labels)
            except DecodeError as error:
                name = kind.DESCRIPTOR.full_name
                raise Refused(f"conversation {conversation.id}: the labels of its {place} are no {name}") from error

    def files(self) -> Sequence[FileDescriptor]:
        """Returns the proto files of the messages."""
        kinds = (getattr(self, place) for place in PATHS)
        return list(dict.fromkeys(kind.DESCRIPTOR.file for kind in kinds if kind))

    def values(self) -> Iterator[tuple[str, FieldDescriptor]]:
        """Yields the fields that hold one value each: no messages, and nothing in a list."""
        lists = [name for name, one in self.fields() if one.is_repeated]
        for name, one in self.fields():
            if one.message_type is None and not any(f"{name}.".startswith(f"{of}.") for of in lists):
                yield name, one

    def message(self, place: str, values: Mapping[str, Any]) -> bytes:
        """Returns the labels of a place with these values, by name: an enum's in words."""
        kind = getattr(self, place)
        if kind is None:
            return b""
        made = kind()
        for name, one in self.values():
            first, *above, last = name.split(".")
            if first == place and (value := values.get(name)):
                within = functools.reduce(getattr, above, made)
                setattr(within, last, f"{value_prefix(one)}{_constant(value)}" if one.enum_type else value)
        return bytes(made.SerializeToString())

    def fields(self) -> Iterator[tuple[str, FieldDescriptor]]:
        """Yields every field by its name: `tutor.action`, `enrichment.confusion.category`."""
        for place in PATHS:
            if kind := getattr(self, place):
                yield from _fields(place, kind.DESCRIPTOR)


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """How a field of the labels is shown. Fields without a description are shown under their own names."""

    title: str
    # Its name in exported JSON; the title if empty. Also for the reply's own thoughts, evaluation and text.
    key: str = ""
    # The code that exported JSON has for a value.
    codes: Mapping[str, str] = field(default_factory=dict)
    # Over its figures on the card and the report; the title if empty.
    heading: str = ""
    # The meaning of each value.
    words: Mapping[str, str] = field(default_factory=dict)
    # Whether it says how the tutor responds: a table sets it against the evaluation of the message.
    response: bool = False
    # A phrase such as "meant wrong: {}" for what was drawn for the student's message.
    drawn: str = ""
    # For texts that belong to the whole conversation: the fields of a message as a line, such as "{question} {answer}".
    text: str = ""
    # The field of a message that is a question planned for the tutor.
    asks: str = ""
    # Whether it says what the student has got wrong.
    misconception: bool = False
    # Whether it is the student's name.
    names_student: bool = False

    @property
    def meanings(self) -> Mapping[str, str]:
        """Returns the words of each value, or of each code."""
        return self.words or {code: value for value, code in self.codes.items()}


@functools.cache
def labels_of(recipe: str) -> Labels:
    """Returns the messages of the recipe's `labels.proto` by the places that their names begin with.

    A recipe that is not installed has none. Imports nothing else of the recipe, because readers need nothing else.
    """
    recipe = recipe or DEFAULT
    found = part(recipe, "labels_pb2") if recipe in known_recipes() else None
    return Labels(**{place: getattr(found, f"{place.capitalize()}Labels", None) for place in PATHS})


@functools.cache
def columns_of(recipe: str) -> Mapping[str, Column]:
    """Returns how the fields of the labels are shown, by name, as `COLUMNS` of the recipe's `columns.py` says."""
    recipe = recipe or DEFAULT
    if recipe not in known_recipes() or not has_part(recipe, "columns"):
        return {}
    columns: Mapping[str, Column] = load(recipe, "columns:COLUMNS", Mapping)
    return columns


def faults_of_columns(labels: Labels, columns: Mapping[str, Column]) -> Iterator[str]:
    fields = [name for name, _ in labels.fields()]
    # Besides the labels, a column may describe what every reply has.
    known = {*fields, *OF_EVERY_REPLY}
    titles: dict[str, str] = {}
    for name, column in columns.items():
        if name not in known:
            others = f"use one of {', '.join(fields) or 'none'}"
            yield f"{name!r} is no field of the labels: {others}, or install again to compile labels.proto"
        first = titles.setdefault(column.title, name)
        if first != name:
            yield f"{first!r} and {name!r} have the same title {column.title!r}: rename one"


def places(conversation: Conversation) -> Iterator[tuple[str, Labelled]]:
    """Yields each message of a conversation that has labels, with its place."""
    problem = conversation.problem
    yield from (("conversation", conversation), ("problem", problem))
    if problem.HasField("enrichment"):
        yield "enrichment", problem.enrichment
    taken_back = (turn for rewind in conversation.rewinds for turn in rewind.turns)
    for turn in chain(conversation.turns, taken_back):
        yield "turn", turn
        if turn.HasField("student"):
            yield "student", turn.student
        if turn.HasField("tutor"):
            yield "tutor", turn.tutor


def value_prefix(field: FieldDescriptor) -> str:
    """Returns what the names of an enum's values begin with."""
    assert field.enum_type is not None
    return str(field.enum_type.values[0].name).removesuffix("UNSPECIFIED")


def repeated_numbers(proto: str) -> Iterator[str]:
    """Yields a line for each field of a proto file whose number another field of its message has."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", proto, flags=re.DOTALL)
    while block := _BLOCK.search(text):
        kind, message, body = block.groups()
        names: dict[str, str] = {}
        for name, number in _FIELD.findall(body) if kind == "message" else ():
            if first := names.get(number):
                yield f"{first!r} and {name!r} of {message} have the same number {number}: give one another number"
            names.setdefault(number, name)
        # The fields of a oneof are fields of the message around it.
        text = text[: block.start()] + (body if kind == "oneof" else "") + text[block.end() :]


def row_path(name: str) -> str:
    """Returns the column of a field: `turns.tutor.labels.action` for `tutor.action`."""
    place, _, rest = name.partition(".")
    return f"{PATHS[place]}.{rest}"


def _constant(word: str) -> str:
    return word.upper().replace(" ", "_")


def _fields(above: str, kind: Descriptor) -> Iterator[tuple[str, FieldDescriptor]]:
    for one in kind.fields:
        yield f"{above}.{one.name}", one
        if one.message_type is not None:
            yield from _fields(f"{above}.{one.name}", one.message_type)
