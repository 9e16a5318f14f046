"""ShareGPT as LLaMA-Factory and others read it: human and gpt alternate, with programs as function calls."""

from pydantic_core import from_json, to_json

from soliloquy.dataset.exports.dialogue import CannotConvert, Dialogue
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.dataset.exports.formats.openai import TOOL, TOOLS, arguments, columns, read_arguments
from soliloquy.dataset.exports.replies import json_text, read_reply, reply_text
from soliloquy.dataset.exports.transcript import Transcript, prompt, read_prompt

# Says in `extra` that the system message stood among the others.
_LISTED = "listed_prompt"
_TOOLS = to_json([tool["function"] for tool in TOOLS]).decode()


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    """Writes a missing message as an empty one, so that the two speakers alternate."""
    said: list[Row] = []
    for turn in dialogue.answered():
        said.append({"from": "human", "value": turn.student or ""})
        if choice.hidden:
            for number, attempt in enumerate(turn.attempts):
                call = {"name": TOOL, "arguments": arguments(None if number else turn.description, attempt)}
                said.append({"from": "function_call", "value": json_text(call)})
                said.append({"from": "observation", "value": attempt.output})
        said.append({"from": "gpt", "value": reply_text(turn, choice, dialogue.recipe)})
    if not said:
        return None
    made: Row = {"id": dialogue.id, "conversations": said}
    system = prompt(dialogue, choice)
    if system and _LISTED in dialogue.extra:
        said.insert(0, {"from": "system", "value": system})
    elif system:
        made["system"] = system
    if choice.hidden:
        made["tools"] = _TOOLS
    return made


def dialogue(row: Row) -> Dialogue:
    said = row.get("conversations")
    if not isinstance(said, list) or not said:
        raise CannotConvert("`conversations` is missing")
    transcript, known = Transcript(), read_prompt(text_of(row, "system"))
    for number, message in enumerate(said, start=1):
        try:
            match message:
                case {"from": "system", "value": str(text)} if number == 1:
                    known = read_prompt(text)
                    known["extra"] = {**known.get("extra", {}), _LISTED: True}
                case {"from": "human" | "user", "value": str(text)}:
                    transcript.student(text)
                case {"from": "function_call", "value": str(text)}:
                    transcript.program(*read_arguments(_arguments(text)))
                case {"from": "observation", "value": str(text)} if transcript.awaits_output:
                    transcript.output(text)
                case {"from": "gpt" | "assistant", "value": str(text)}:
                    transcript.reply(*read_reply(text))
                case _:
                    raise CannotConvert("unexpected speaker or value at this place")
        except CannotConvert as unfit:
            raise CannotConvert(f"message {number}: {unfit}") from unfit
    return Dialogue(id=text_of(row, "id"), turns=transcript.turns(), recipe=transcript.recipe, **known)


def _arguments(text: str) -> Row:
    try:
        match from_json(text):
            case {"name": str(name), "arguments": dict(fields)} if name == TOOL:
                return fields
            case _:
                raise CannotConvert(f"only calls of {TOOL!r} can be imported")
    except ValueError as error:
        raise CannotConvert(str(error)) from error


FORMAT = Format(
    title="human and gpt, programs as function calls",
    suffixes=(".json", ".jsonl"),
    columns=columns,
    row=row,
    dialogue=dialogue,
    listed=("conversations",),
    always=("id",),
)
