"""OpenAI's fine-tuning format: a line of messages for each conversation, with programs as tool calls."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from soliloquy.dataset.exports.dialogue import Attempt, CannotConvert, Dialogue
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.dataset.exports.replies import json_text, read_reply, reply_text
from soliloquy.dataset.exports.transcript import Transcript, prompt, read_prompt

TOOL = "python"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Runs a Python program and tells the values of its result variables.",
            "parameters": {
                "type": "object",
                "properties": {
                    "description": {"type": "string", "description": "What is calculated, and from which values."},
                    "code": {"type": "string"},
                    "result_variables": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["code", "result_variables"],
                "additionalProperties": False,
            },
        },
    }
]


def columns(choice: ExportOptions) -> list[str]:
    """Returns the columns for every format that consists of messages."""
    problem = ["problem.question", "problem.solution", "problem.enrichment.detailed_solution"]
    turns = ["turns.student.text", "turns.tutor.text"]
    if choice.hidden:
        turns = ["turns.student.text", "turns.calculation", "turns.tutor"]
    return ["run.recipe", *(problem if choice.prompts else ()), *turns, "extra"]


def arguments(description: str | None, attempt: Attempt) -> Row:
    """Returns the arguments of a tool call; `description` is None for a repeated attempt."""
    described = {} if description is None else {"description": description}
    return {**described, "code": attempt.code, "result_variables": attempt.result_variables}


def read_arguments(fields: Mapping[str, Any]) -> tuple[str | None, Attempt]:
    variables = fields.get("result_variables") or []
    if not isinstance(fields.get("code"), str) or not isinstance(variables, list):
        raise CannotConvert("a call of python lacks `code`")
    description = text_of(fields, "description") if "description" in fields else None
    return description, Attempt(code=fields["code"], result_variables=[str(name) for name in variables])


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    messages: list[Row] = []
    if system := prompt(dialogue, choice):
        messages.append({"role": "system", "content": system})
    calls = replies = 0
    for turn in dialogue.answered():
        if turn.student is not None:
            messages.append({"role": "user", "content": turn.student})
        if choice.hidden:
            for number, attempt in enumerate(turn.attempts):
                calls += 1
                said = json_text(arguments(None if number else turn.description, attempt))
                call = {"id": f"call_{calls}", "type": "function", "function": {"name": TOOL, "arguments": said}}
                messages.append({"role": "assistant", "tool_calls": [call]})
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": attempt.output})
        if turn.reply is not None:
            replies += 1
            messages.append({"role": "assistant", "content": reply_text(turn, choice, dialogue.recipe)})
    if not replies:
        return None
    return (
        {"messages": messages, "tools": TOOLS, "parallel_tool_calls": False}
        if choice.hidden
        else {"messages": messages}
    )


def dialogue(row: Row) -> Dialogue:
    messages = row.get("messages")
    if not isinstance(messages, list) or not messages:
        raise CannotConvert("`messages` is missing")
    transcript, known = Transcript(), {}
    for number, message in enumerate(messages, start=1):
        try:
            match message:
                case {"role": "system" | "developer", "content": str(text)} if number == 1:
                    known = read_prompt(text)
                case {"role": "user", "content": str(text)}:
                    transcript.student(text)
                case {"role": "assistant", "tool_calls": [call]}:
                    transcript.program(*_called(call))
                case {"role": "tool", "content": str(text)} if transcript.awaits_output:
                    transcript.output(text)
                case {"role": "assistant", "content": str(text)}:
                    transcript.reply(*read_reply(text))
                case _:
                    raise CannotConvert("unexpected role or content at this place")
        except CannotConvert as unfit:
            raise CannotConvert(f"message {number}: {unfit}") from unfit
    return Dialogue(turns=transcript.turns(), recipe=transcript.recipe, **known)


def _called(call: Any) -> tuple[str | None, Attempt]:
    match call:
        case {"function": {"name": str(name), "arguments": str(text)}} if name == TOOL:
            try:
                fields = from_json(text)
            except ValueError as error:
                raise CannotConvert(f"the arguments of a call are not JSON: {error}") from error
            return read_arguments(fields if isinstance(fields, dict) else {})
        case {"function": {"name": name}}:
            raise CannotConvert(f"only calls of {TOOL!r} can be imported, not of {name!r}")
        case _:
            raise CannotConvert("a tool call has no function")


FORMAT = Format(
    title="chat messages a line, programs as tool calls",
    suffixes=(".jsonl",),
    columns=columns,
    row=row,
    dialogue=dialogue,
    listed=("messages",),
)
