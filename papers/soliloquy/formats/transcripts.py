"""Reads what experts wrote to the tuned model of Code Soliloquies, and its raw answers, as its server logged them.

Each answer repeats the whole prompt before it, in which names stand before what students, the model, its instructions
and Python say.
"""

import re
from collections.abc import Iterator

from soliloquy.dataset.exports.dialogue import Attempt, CannotConvert, Dialogue
from soliloquy.dataset.exports.format import ExportOptions, Format, Row
from soliloquy.dataset.exports.transcript import Transcript
from soliloquy.recipes.answers import Decision, Program
from soliloquy.runtime.answers import Unreadable
from soliloquy_papers.soliloquy.formats.soliloquies import RECIPE, output_told

_BEGINS = "Now the conversation is beginning:"
_NAME = re.compile(r"(?:^|(?<=\s)|</s>)(USER|STUDENT|INSTRUCTION|ASSISTANT|PYTHON):\s*")


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    """Returns nothing: an imported row is kept whole, and ours were no log of that server."""
    return None


def dialogue(row: Row) -> Dialogue:
    messages = row.get("messages")
    if not isinstance(messages, list) or not all(isinstance(one, list) and len(one) == 2 for one in messages):
        raise CannotConvert("`messages` is not a list of speakers and texts")
    said = [str(text or "") for speaker, text in messages if speaker == "USER"]
    logs = [text for speaker, text in messages if speaker == "ASSISTANT" and text]
    if not said or not logs:
        raise CannotConvert("`messages` lacks a student's message or an answer")
    students = iter(_NAME.sub("", text).strip() for text in said)
    transcript = Transcript()
    for name, text in _parts(str(logs[-1]).rpartition(_BEGINS)[2]):
        if name == "PYTHON" and transcript.awaits_output:
            transcript.output(output_told(text))
        elif name == "ASSISTANT" and text.startswith("{"):
            _answer(text, transcript, students)
        elif name == "ASSISTANT" and text:
            transcript.reply({"reply": text})
    turns = transcript.turns()
    return Dialogue(recipe=RECIPE, question=turns[0].student or "" if turns else "", turns=turns)


def _parts(log: str) -> Iterator[tuple[str, str]]:
    names = [*_NAME.finditer(log)]
    ends = [*(found.start() for found in names[1:]), len(log)]
    for found, end in zip(names, ends, strict=True):
        yield found[1], log[found.end() : end].strip()


def _answer(text: str, transcript: Transcript, students: Iterator[str]) -> None:
    """Reads a state's answer, of which the decision begins a turn."""
    try:
        if "Python Code" in text:
            program, _ = Program.read(text)
            attempt = Attempt(code=program.code, result_variables=program.result_variables)
            transcript.program(None, attempt)
            return
        decision, _ = Decision.read(text)
    except Unreadable as unreadable:
        raise CannotConvert(f"`messages`: {unreadable}") from unreadable
    transcript.student(next(students, ""))
    if decision.use_python == "y":
        transcript.decided(decision.description or "")


FORMAT = Format(
    title="logs of Code Soliloquies' tuned model with experts (import only)",
    suffixes=(".json", ".jsonl"),
    columns=lambda _: ["extra"],
    row=row,
    dialogue=dialogue,
    wants="a log that it was imported from",
)
