"""`python -m benchmarks answers`."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import Readings, as_counts, print_table, total
from soliloquy.problems.files.imported_row import RawProblem
from soliloquy.recipes.answers import Decision, Program, StudentMessage, TutorMessage
from soliloquy.recipes.mathdial.answers import ConfusionDescription, MoveChoice, SampledSolution
from soliloquy.recipes.scaffold.answers import CalculationRequest, PlanAnswer, PlanVerdict, SessionVerdict, Tutored
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.recipes.speech import cleaned, has_alternatives, second_speaker
from soliloquy.runtime.answers import Answer, Unreadable, is_refusal
from soliloquy.runtime.model.recording import FILE, recorded_answers
from soliloquy.runtime.model.samples import split
from soliloquy.runtime.thoughts import parts_of
from soliloquy_papers.mathwell.answers import Judgement, WrittenProblem

_STATES: dict[str, type[Answer]] = {
    "initial_state": Reply,
    "deciding_state": Decision,
    "use_python_state": Program,
    "received_python_state": Reply,
    "no_python_state": Reply,
}
# The answers of the prompts, by the names of recipe and state, or of the state alone.
_PROMPTS: dict[str, type[Answer]] = {
    "student": StudentMessage,
    **dict.fromkeys(("no_python", "received_python"), Reply),
    **dict.fromkeys(("use_python", "program"), Program),
    "deciding": Decision,
    "scaffold/describing": CalculationRequest,
    "planning": PlanAnswer,
    "verifying": PlanVerdict,
    "judging": SessionVerdict,
    "tutoring": Tutored,
    "mathdial/solving": SampledSolution,
    "mathdial/describing": ConfusionDescription,
    "choosing": MoveChoice,
    "replying": TutorMessage,
    "writing": WrittenProblem,
    "mathwell/judging": Judgement,
}
# A control block of a transcript stands between the speaker's name and the next instruction.
_BLOCK = re.compile(r"ASSISTANT: (\{['\"].*?\}) (?=INSTRUCTION:|PYTHON:)", re.DOTALL)
# The teacher's move, before the words.
_MOVE = re.compile(r"^\s*\(\w+\)")


_READ = ("answers", "read", "exactly as asked", "asked for again")
# A refused text is taken for a refusal, for words of both sides, or for several messages.
_SPOKEN = ("texts", "speaker's name cut", "anything else cut", "refused")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@AS_JSON
def answers(*, folder: Path, as_json: bool) -> None:
    """Read the raw answers of real models in FOLDER, and count those that would be asked for again.

    FOLDER holds what `generate --record` kept, or published data: conversations and transcripts of Code Soliloquies,
    problems of CLASS, and dialogues of MathDial, whose spoken words nothing should be cut from.
    """
    kinds: dict[str, Readings] = {}
    for kind, answer, text in _raw(folder):
        outcomes, refused = _read(text, answer)
        kinds.setdefault(kind, Readings()).add(outcomes, refused and f"{kind}: {refused}")
    voices: dict[str, Readings] = {}
    for source, speaker, text in _spoken(folder):
        voices.setdefault(source, Readings()).add(_cut(text, speaker))
    if as_json:
        click.echo(json.dumps(as_counts(kinds | voices)))
        return
    print_table(kinds, _READ)
    print_table(voices, _SPOKEN, title="spoken by")
    for refused, times in Counter(total(kinds.values()).faults).most_common():
        click.echo(f"{times} x {refused}")


def _read(text: str, answer: type[Answer]) -> tuple[list[str], str]:
    """Returns the columns that an answer counts in, and why it is asked for again."""
    try:
        _, strict = answer.read(text)
    except Unreadable as unreadable:
        return ["answers", "asked for again"], str(unreadable)
    return ["answers", "read", *(["exactly as asked"] if strict else [])], ""


def _cut(text: str, speaker: str) -> Iterator[str]:
    spoken = cleaned(parts_of(text).words, speaker)
    yield "texts"
    if any(piece.endswith(":") for piece in spoken.cut):
        yield "speaker's name cut"
    if any(not piece.endswith(":") for piece in spoken.cut) or (not spoken.cut and spoken.text != text.strip()):
        yield "anything else cut"
    if is_refusal(spoken.text) or second_speaker(spoken.text, speaker) or has_alternatives(spoken.text):
        yield "refused"


def _raw(folder: Path) -> Iterator[tuple[str, type[Answer], str]]:
    for file in sorted(folder.rglob(FILE)):
        for request, completion in recorded_answers(file.parent):
            if answer := _PROMPTS.get(request.prompt) or _PROMPTS.get(request.prompt.partition("/")[2]):
                yield from ((request.prompt, answer, sample.text) for sample in split(completion))
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
                yield "class", RawProblem, row["problems"]


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
