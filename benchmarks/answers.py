"""`python -m benchmarks answers`."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click
from pydantic import Field
from rich.console import Console

from benchmarks.command import AS_JSON
from soliloquy.cli.tables import table
from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.recipes.speech import cleaned, has_alternatives, second_speaker
from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.refusals import is_refusal
from soliloquy.runtime.thoughts import parts_of

_STATES: dict[str, type[Answer]] = {
    "initial_state": Reply,
    "deciding_state": Decision,
    "use_python_state": Program,
    "received_python_state": Reply,
    "no_python_state": Reply,
}
# A control block of a transcript stands between the speaker's name and the next instruction.
_BLOCK = re.compile(r"ASSISTANT: (\{['\"].*?\}) (?=INSTRUCTION:|PYTHON:)", re.DOTALL)
# The teacher's move, before the words.
_MOVE = re.compile(r"^\s*\(\w+\)")


class _Problem(Answer):
    """What CLASS asks for."""

    problem: str = Field(alias="Problem")
    parts: list[dict[str, object]] = Field(alias="SubProblems")


@dataclass(kw_only=True)
class Read:
    """How the raw answers of one kind were read."""

    answers: int = 0
    strict: int = 0
    # Counts the answers that are asked for again, by reason.
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, text: str, answer: type[Answer]) -> None:
        self.answers += 1
        try:
            _, strict = answer.read(text)
        except Unreadable as unreadable:
            self.refused[str(unreadable)] += 1
        else:
            self.strict += strict


@dataclass(kw_only=True)
class Spoken:
    """Counts what is cut from words that people and models spoke."""

    texts: int = 0
    # Lost their speaker's name at the start; lost anything else.
    without_name: int = 0
    cut: int = 0
    # Taken for a refusal, for words of both sides, or for several messages.
    refused: int = 0

    def add(self, text: str, speaker: str) -> None:
        self.texts += 1
        spoken = cleaned(parts_of(text).words, speaker)
        self.without_name += any(piece.endswith(":") for piece in spoken.cut)
        self.cut += any(not piece.endswith(":") for piece in spoken.cut) or (
            not spoken.cut and spoken.text != text.strip()
        )
        self.refused += bool(
            is_refusal(spoken.text) or second_speaker(spoken.text, speaker) or has_alternatives(spoken.text)
        )


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@AS_JSON
def answers(*, folder: Path, as_json: bool) -> None:
    """Read the raw answers of real models in FOLDER, and count those that would be asked for again.

    FOLDER holds published data: conversations and transcripts of Code Soliloquies, problems of CLASS, and dialogues of
    MathDial, whose spoken words nothing should be cut from.
    """
    kinds: dict[str, Read] = {}
    for kind, answer, text in _raw(folder):
        kinds.setdefault(kind, Read()).add(text, answer)
    voices: dict[str, Spoken] = {}
    for source, speaker, text in _spoken(folder):
        voices.setdefault(source, Spoken()).add(text, speaker)
    if as_json:
        told = {kind: asdict(read) for kind, read in kinds.items()}
        click.echo(json.dumps(told | {source: asdict(spoken) for source, spoken in voices.items()}))
        return
    made = table("", "answers", "read", "exactly as asked", "asked for again")
    for kind, read in kinds.items():
        refused = read.refused.total()
        made.add_row(kind, *map(str, (read.answers, read.answers - refused, read.strict, refused)))
    Console().print(made)
    spoken_table = table("spoken by", "texts", "speaker's name cut", "anything else cut", "refused")
    for source, one in voices.items():
        spoken_table.add_row(source, *map(str, (one.texts, one.without_name, one.cut, one.refused)))
    Console().print(spoken_table)
    for kind, read in kinds.items():
        for reason, times in read.refused.most_common():
            click.echo(f"{kind}: {times} x {reason}")


def _raw(folder: Path) -> Iterator[tuple[str, type[Answer], str]]:
    for file in sorted(folder.rglob("conversations/*.json")):
        for message in json.loads(file.read_text("utf-8"))["conversations"]:
            if answer := _STATES.get(message["from"]):
                yield message["from"], answer, json.dumps(message["value"])
    for file in sorted(folder.rglob("transcripts/*.txt")):
        # Each message repeats the whole prompt before it, so only the last ones hold every block once.
        for _, text in json.loads(file.read_text("utf-8"))["messages"]:
            for block in _BLOCK.findall(text or ""):
                yield "transcripts", Program if "Python Code" in block else Decision, block
    for file in sorted(folder.rglob("bio_problems.csv")):
        with file.open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows):
                yield "class", _Problem, row["problems"]


def _spoken(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yields the source, the speaker and the words."""
    for file in sorted(folder.rglob("conversations/*.json")):
        for message in json.loads(file.read_text("utf-8"))["conversations"]:
            if message["from"] == "student":
                yield "student of Code Soliloquies", "student", message["value"]
            elif isinstance(message["value"], dict) and (said := message["value"].get("Tutorbot Response")):
                yield "tutor of Code Soliloquies", "tutor", said
    for file in sorted(folder.rglob("mathdial/*.csv")):
        with file.open(encoding="utf-8", newline="") as rows:
            for utterance in (each for row in csv.DictReader(rows) for each in row["conversation"].split("|EOM|")):
                name, _, said = utterance.partition(":")
                said = _MOVE.sub("", said).strip()
                is_teacher = name.strip() == "Teacher"
                yield (
                    ("teacher" if is_teacher else "student") + " of MathDial",
                    "tutor" if is_teacher else "student",
                    said,
                )
