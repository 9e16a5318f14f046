"""OpenAI's chat format, as its fine-tuning takes it: a line of messages a conversation, programs as calls of a tool."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from soliloquy.dataset.exports.dialogue import Attempt, CannotConvert, Dialogue
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.dataset.exports.prompt import prompt, read_prompt
from soliloquy.dataset.exports.replies import json_text, read_reply, reply_text
from soliloquy.dataset.exports.transcript import Transcript

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
    """Also those of other formats that are made of messages."""
    problem = ["problem.question", "problem.solution", "problem.enrichment.detailed_solution"]
    turns = ["turns.student.text", "turns.tutor.text"]
    if choice.hidden:
        turns = ["turns.student.text", "turns.calculation", "turns.tutor"]
    return [*(problem if choice.prompts else ()), *turns, "extra"]


def arguments(description: str | None, attempt: Attempt) -> Row:
    """Of a call; a further try has the description of the first."""
    described = {} if description is None else {"description": description}
    return {**described, "code": attempt.code, "result_variables": attempt.result_variables}


def read_arguments(given: Mapping[str, Any]) -> tuple[str | None, Attempt]:
    variables = given.get("result_variables") or []
    if not isinstance(given.get("code"), str) or not isinstance(variables, list):
        raise CannotConvert("a call of python has no code")
    description = text_of(given, "description") if "description" in given else None
    return description, Attempt(code=given["code"], result_variables=[str(name) for name in variables])


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
            messages.append({"role": "assistant", "content": reply_text(turn, choice)})
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
        raise CannotConvert("it has no `messages`")
    told, known = Transcript(), {}
    for number, message in enumerate(messages, start=1):
        try:
            match message:
                case {"role": "system" | "developer", "content": str(text)} if number == 1:
                    known = read_prompt(text)
                case {"role": "user", "content": str(text)}:
                    told.student(text)
                case {"role": "assistant", "tool_calls": [call]}:
                    told.program(*_called(call))
                case {"role": "tool", "content": str(text)} if told.awaits_output:
                    told.output(text)
                case {"role": "assistant", "content": str(text)}:
                    told.reply(read_reply(text))
                case _:
                    raise CannotConvert("nothing that a student, a tutor or its Python says at this place")
        except CannotConvert as unfit:
            raise CannotConvert(f"message {number}: {unfit}") from unfit
    return Dialogue(turns=told.turns(), **known)


def _called(call: Any) -> tuple[str | None, Attempt]:
    match call:
        case {"function": {"name": str(name), "arguments": str(text)}} if name == TOOL:
            try:
                given = from_json(text)
            except ValueError as error:
                raise CannotConvert(f"the arguments of a call are not JSON: {error}") from error
            return read_arguments(given if isinstance(given, dict) else {})
        case {"function": {"name": name}}:
            raise CannotConvert(f"it calls {name!r}, and only calls of {TOOL!r} can be brought in")
        case _:
            raise CannotConvert("it has a call without a function")


FORMAT = Format(
    suffixes=(".jsonl",), columns=columns, row=row, dialogue=dialogue, made=("messages", "tools", "parallel_tool_calls")
)
