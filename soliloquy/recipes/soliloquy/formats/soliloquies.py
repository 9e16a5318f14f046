"""The JSON of the published Code Soliloquies data: the answers of the tutor's states, in the paper's fields."""

from typing import Any

from soliloquy.dataset.exports.dialogue import Attempt, CannotConvert, Dialogue, Exchange
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.dataset.exports.replies import program, read_fields, read_program, reply_fields, reply_key
from soliloquy.v1.conversation_pb2 import Ending

RECIPE = "soliloquy"
_RESPONSE = reply_key(RECIPE)
_ACTION = "Action Based on Evaluation"
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
_ACTION_TOO = "Action Based on the Evaluation"
_SOLUTIONS = ("Solution", "Detailed Solution", "Solution Outline")
_ENDINGS = {name.removeprefix("ENDING_").lower() for name, ending in Ending.items() if ending}


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
    return {"id": dialogue.id, **fields, "Conversation": [_turn(turn, choice) for turn in dialogue.turns]}


def _turn(turn: Exchange, choice: ExportOptions) -> Row:
    fields: Row = {}
    if turn.student is not None:
        fields["Student"] = turn.student
    if choice.labels and turn.intent:
        fields["Intent"] = turn.intent
    if choice.labels and (strategy := turn.labels.get("student.strategy")):
        fields["Error Strategy"] = strategy
    if choice.hidden:
        fields |= _soliloquy(turn)
    if turn.reply is not None:
        fields |= reply_fields(turn, RECIPE) if choice.thoughts and not turn.is_plain else {_RESPONSE: turn.reply}
    return fields


def _soliloquy(turn: Exchange) -> Row:
    if turn.description is None:
        return {} if turn.reply is None else {"Use Python": "n"}
    fields: Row = {"Use Python": "y", "Description": turn.description}
    *failed, last = turn.attempts or (None,)
    if failed:
        fields["Failed Python"] = [
            {**program(attempt), "Python Output": attempt.output} for attempt in failed if attempt is not None
        ]
    if last is not None:
        fields |= {"Python": program(last), "Python Output": last.output}
    return fields


def dialogue(row: Row) -> Dialogue:
    turns = row.get("Conversation")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise CannotConvert("`Conversation` is not a list of turns")
    texts: dict[str, Any] = {field: text_of(row, name) for name, field in _TEXTS.items()}
    if texts["ending"] not in _ENDINGS:
        texts["ending"] = ""
    return Dialogue(id=text_of(row, "id"), recipe=RECIPE, turns=[_read(turn) for turn in turns], **texts)


def _read(turn: Row) -> Exchange:
    known: dict[str, Any] = {}
    if "Student" in turn:
        known["student"] = text_of(turn, "Student")
    if turn.get("Use Python") == "y":
        known |= {"description": text_of(turn, "Description"), "attempts": _attempts(turn)}
    if _RESPONSE in turn:
        known |= read_fields({_ACTION: turn.get(_ACTION_TOO), **turn}, RECIPE)
    if strategy := text_of(turn, "Error Strategy"):
        known["labels"] = {"student.strategy": strategy, **known.get("labels", {})}
    return Exchange(intent=text_of(turn, "Intent"), **known)


def _attempts(turn: Row) -> list[Attempt]:
    failed = turn.get("Failed Python") or []
    last = turn.get("Python")
    if not isinstance(failed, list) or not isinstance(last, dict | None):
        raise CannotConvert("a program is not a JSON object")
    attempts = [read_program(fields, text_of(fields, "Python Output")) for fields in failed if isinstance(fields, dict)]
    if last is not None:
        attempts.append(read_program(last, text_of(turn, "Python Output")))
    return attempts


FORMAT = Format(
    title="Code Soliloquies' own fields",
    suffixes=(".json", ".jsonl"),
    columns=columns,
    row=row,
    dialogue=dialogue,
    made=("Conversation", *_SOLUTIONS),
    wants="anything",
)
