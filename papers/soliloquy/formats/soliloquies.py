"""The JSON of the published Code Soliloquies data: what the student said, and what each state of the tutor answered."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from soliloquy.dataset.exports.dialogue import CannotConvert, Dialogue, Exchange
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.dataset.exports.replies import program, read_fields, read_program, reply_fields, reply_key
from soliloquy.dataset.exports.transcript import Transcript
from soliloquy.v1.conversation_pb2 import Ending

RECIPE = "soliloquy"
_RESPONSE = reply_key(RECIPE)
_ACTION = "Action Based on Evaluation"
_ACTION_TOO = "Action Based on the Evaluation"
_REPLYING = ("initial_state", "no_python_state", "received_python_state")
# Fields that the published files lack; they are written where they are known.
_TEXTS = {
    "Problem": "problem_id",
    "Topic": "topic",
    "Question": "question",
    "Solution": "solution",
    "Detailed Solution": "detailed_solution",
    "Solution Outline": "outline",
    "Persona": "persona",
    "Ending": "ending",
}
_SOLUTIONS = ("Solution", "Detailed Solution", "Solution Outline")
_ENDINGS = {name.removeprefix("ENDING_").lower() for name, ending in Ending.items() if ending}
# The student's first message quotes the problem.
_OPENING = re.compile(r'[^"“]{0,80}["“](.+)["”][^"”]{0,80}', re.DOTALL)
_CALCULATED = re.compile(r'Tutorbot calculated "(\w+)" to be (.*)\.')
_VALUE = re.compile(r"(\w+) = (.*)")


def columns(choice: ExportOptions) -> list[str]:
    problem = ["problem.topic", "problem.question"]
    if choice.solutions:
        problem += ["problem.solution", "problem.enrichment.detailed_solution", "problem.enrichment.outline"]
    turns = ["turns.student", "turns.calculation", "turns.tutor"]
    if not choice.hidden:
        turns = ["turns.student.text", "turns.tutor.text"]
    return ["run.recipe", *problem, *turns, "persona", "ending", "extra"]


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    if dialogue.recipe not in (RECIPE, ""):
        raise CannotConvert(f"has the recipe {dialogue.recipe!r}; this format holds only {RECIPE!r}")
    texts = {name: getattr(dialogue, field) for name, field in _TEXTS.items()}
    fields = {name: text for name, text in texts.items() if text and (choice.solutions or name not in _SOLUTIONS)}
    said: list[Row] = []
    for turn in dialogue.turns:
        said += _messages(turn, choice, is_first=all(message["from"] == "student" for message in said))
    return {"id": dialogue.id, **fields, "conversations": said}


def _messages(turn: Exchange, choice: ExportOptions, *, is_first: bool) -> Iterator[Row]:
    if turn.student is not None:
        drawn = {"Intent": turn.intent, "Error Strategy": turn.labels.get("student.strategy")} if choice.labels else {}
        yield {**_message("student", turn.student), **{name: value for name, value in drawn.items() if value}}
    if not choice.hidden or (turn.description is None and (turn.is_plain or not choice.thoughts)):
        if turn.reply is not None:
            yield _message("tutor", turn.reply)
        return
    state = "initial_state"
    if turn.description is not None:
        state = "received_python_state"
        yield _message("deciding_state", {"Use Python": "y", "Description": turn.description})
        for attempt in turn.attempts:
            yield _message("use_python_state", {"Python": program(attempt)})
            yield _message("python_output", _told(attempt.output))
    elif not is_first:
        state = "no_python_state"
        yield _message("deciding_state", {"Use Python": "n"})
    if turn.reply is not None:
        with_thoughts = choice.thoughts and not turn.is_plain
        yield _message(state, reply_fields(turn, RECIPE) if with_thoughts else {_RESPONSE: turn.reply})


def _message(speaker: str, value: str | Row) -> Row:
    return {"from": speaker, "value": value}


def _told(output: str) -> str:
    """Writes an output as the paper's tutor reads it; what was printed or failed stays as it is."""
    values = [_VALUE.fullmatch(line) for line in output.split("\n")]
    return (
        "".join(f'Tutorbot calculated "{one[1]}" to be {one[2]}.\n' for one in values if one) if all(values) else output
    )


def output_told(told: str) -> str:
    values = [_CALCULATED.fullmatch(line) for line in told.removesuffix("\n").split("\n")]
    return "\n".join(f"{one[1]} = {one[2]}" for one in values if one) if all(values) else told


def dialogue(row: Row) -> Dialogue:
    said = row.get("conversations")
    if not isinstance(said, list):
        raise CannotConvert("`conversations` is not a list of messages")
    transcript = Transcript()
    for number, message in enumerate(said, start=1):
        if not _is_read(message, transcript):
            raise CannotConvert(f"message {number}: not what a student, a state of the tutor or Python says here")
    texts: dict[str, Any] = {field: text_of(row, name) for name, field in _TEXTS.items()}
    turns = transcript.turns()
    texts["question"] = texts["question"] or _quoted(turns)
    if texts["ending"] not in _ENDINGS:
        texts["ending"] = "solved" if turns and turns[-1].labels.get("tutor.state") == "all finished" else ""
    return Dialogue(id=text_of(row, "id"), recipe=RECIPE, turns=turns, **texts)


def _is_read(message: Any, transcript: Transcript) -> bool:
    if not isinstance(message, dict):
        return False
    speaker, value = message.get("from"), message.get("value")
    fields: Row = value if isinstance(value, dict) else {}
    if speaker == "student" and isinstance(value, str):
        strategy = text_of(message, "Error Strategy")
        labels = {"student.strategy": strategy} if strategy else {}
        transcript.student(value, intent=text_of(message, "Intent"), labels=labels)
    elif speaker == "deciding_state" and "Use Python" in fields:
        calculates = text_of(fields, "Use Python").strip()[:1].lower() == "y"
        transcript.decided(text_of(fields, "Description") if calculates else None)
    elif speaker == "use_python_state" and isinstance(fields.get("Python"), dict):
        transcript.program(None, read_program(fields["Python"]))
    elif speaker == "python_output" and isinstance(value, str) and transcript.awaits_output:
        transcript.output(output_told(value))
    elif speaker in _REPLYING and fields:
        transcript.reply(read_fields({_ACTION: fields.get(_ACTION_TOO), **fields}, RECIPE))
    elif speaker in (*_REPLYING, "tutor") and isinstance(value, str):
        # A state that answered without its fields.
        transcript.reply({"reply": value}, calculated=speaker != "tutor")
    else:
        return False
    return True


def _quoted(turns: Sequence[Exchange]) -> str:
    opening = _OPENING.fullmatch(turns[0].student or "") if turns else None
    return opening[1] if opening else ""


FORMAT = Format(
    title="Code Soliloquies' published form: what the student said and each state of the tutor answered",
    suffixes=(".json", ".jsonl"),
    columns=columns,
    row=row,
    dialogue=dialogue,
    listed=("conversations",),
    always=("id",),
    wants="anything",
)
