"""FastChat's format, with which the paper's model was tuned: human and gpt strictly alternate.

Hidden states are JSON: gpt decides and writes its program, "human" answers with the output, gpt replies.
"""

from typing import Any

from soliloquy.dataset.exports.dialogue import Attempt, CannotConvert, Dialogue, Exchange
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.dataset.exports.formats.openai import columns
from soliloquy.dataset.exports.replies import json_object, json_text, program, read_program, read_reply, reply_text
from soliloquy.dataset.exports.transcript import Transcript, prompt, read_prompt, split_prompt

_DECIDED = '{"Use Python":"y"'
_AGAIN = '{"Python":'


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    """Puts the prompt before the first message, since the format has no other place for it."""
    values: list[str] = []
    for turn in dialogue.answered():
        values.append(turn.student or "")
        if choice.hidden and turn.attempts:
            values.extend(_calculated(turn))
        values.append(reply_text(turn, choice, dialogue.recipe))
    if not values:
        return None
    if head := prompt(dialogue, choice):
        values[0] = f"{head}\n\n{values[0]}"
    said = [{"from": "gpt" if number % 2 else "human", "value": value} for number, value in enumerate(values)]
    return {"id": dialogue.id, "conversations": said}


def _calculated(turn: Exchange) -> list[str]:
    values = []
    for number, attempt in enumerate(turn.attempts):
        decided = {} if number else {"Use Python": "y", "Description": turn.description}
        values += [json_text({**decided, "Python": program(attempt)}), attempt.output]
    return values


def dialogue(row: Row) -> Dialogue:
    transcript, head = Transcript(), ""
    values = _values(row.get("conversations"))
    for number, value in enumerate(values):
        decided = _decided(value) if number % 2 and number + 1 < len(values) else None
        if decided is not None:
            transcript.program(*decided)
        elif number % 2:
            transcript.reply(*read_reply(value))
        elif transcript.awaits_output:
            transcript.output(value)
        else:
            if number == 0:
                head, value = split_prompt(value)
            transcript.student(value)
    return Dialogue(id=text_of(row, "id"), turns=transcript.turns(), recipe=transcript.recipe, **read_prompt(head))


def _values(said: Any) -> list[str]:
    if not isinstance(said, list) or not said:
        raise CannotConvert("`conversations` is missing")
    values = []
    for number, message in enumerate(said):
        match message:
            case {"from": str(speaker), "value": str(text)} if speaker == ("gpt" if number % 2 else "human"):
                values.append(text)
            case _:
                raise CannotConvert(f"message {number + 1}: {'gpt' if number % 2 else 'human'} must speak here")
    return values


def _decided(value: str) -> tuple[str | None, Attempt] | None:
    """Returns the description and program of a decision to calculate; None for a reply."""
    if not value.startswith((_DECIDED, _AGAIN)):
        return None
    decided = json_object(value)
    fields = decided.get("Python")
    description = text_of(decided, "Description") if "Description" in decided else None
    return (description, read_program(fields)) if isinstance(fields, dict) else None


FORMAT = Format(
    title="human and gpt alone, hidden states as JSON",
    suffixes=(".json",),
    columns=columns,
    row=row,
    dialogue=dialogue,
    listed=("conversations",),
    always=("id",),
)
