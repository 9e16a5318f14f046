"""Converts a row of a source to a row of a problem file; columns without a field of their own go to `extra`."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import Field
from pydantic_core import to_json

from soliloquy.problems.files.annotated_solution import parse_annotated, with_annotated_solution
from soliloquy.problems.files.languages import glossed_answer
from soliloquy.problems.files.problem_from_row import BadField, check_row, mentions, problem_id
from soliloquy.problems.files.problem_row import AnswerRow, ProblemRow
from soliloquy.problems.files.reading.familiar_rows import ManyTurns, with_our_names
from soliloquy.problems.files.reading.rows import LONGEST_LINE, flaw_of, missing_column
from soliloquy.problems.files.source_format import SourceFormat
from soliloquy.problems.files.stated_results import stated_answer, stated_number
from soliloquy.problems.files.step_questions import ENGLISH, phrases_in
from soliloquy.problems.solving.step_graph import steps_from_program
from soliloquy.programs.results import program_result
from soliloquy.runtime.answers import Answer, Fields, Unreadable
from soliloquy.truth.measured_values import is_rounded
from soliloquy.truth.number_format import format_number, format_value, tidy


class Subproblem(Fields):
    question: str = Field(alias="Question")
    answer: str = Field(alias="Answer")
    hint: str = Field(default="", alias="Hint")
    wrong: str = Field(default="", alias="Incorrect Response")
    feedback: str = Field(default="", alias="Feedback")


class RawProblem(Answer):
    """The form that CLASS asks for."""

    problem: str = Field(alias="Problem")
    subproblems: list[Subproblem] = Field(alias="SubProblems", min_length=1)


def parse_raw(text: str) -> dict[str, Any]:
    """Returns the fields of a problem file; hints, wrong answers and feedback go to `extra`. Raises BadField."""
    try:
        raw, _ = RawProblem.read(text)
    except Unreadable as unreadable:
        raise BadField("solution", str(unreadable)) from unreadable
    parts = raw.subproblems
    if not all(part.question.strip() and part.answer.strip() for part in parts):
        raise BadField("solution", "a subproblem lacks its question or its answer")
    return {
        "question": raw.problem,
        "solution": "\n".join(part.answer for part in parts),
        "steps": [{"kind": "concept", "ask": part.question, "explanation": part.answer} for part in parts],
        "extra": {"subproblems": [{"hint": one.hint, "wrong": one.wrong, "feedback": one.feedback} for one in parts]},
    }


# The fields of a problem file that columns map to; "unit" goes into the answer, "extra" is merged.
FIELDS = (*ProblemRow.model_fields, "unit")
_OWN_ROWS = SourceFormat(reader="jsonl", solution="prose", needs=("question",), columns={name: name for name in FIELDS})
# People round a program's result to whole numbers at most, and programs print six digits of a large one.
_COARSEST_ROUNDING = 0.5
_PRINTED = 1e-5


class ImportedRow(NamedTuple):
    problem: ProblemRow
    # As the problem file holds it.
    line: str
    # The answer of the source if it cannot be read as a number, else empty.
    unread_answer: str


def own_row(value: Any, language: str = "") -> ProblemRow:
    """Returns the row of a problem file, also from one of GSM8K or others; raises BadField or ValidationError."""
    is_object = isinstance(value, dict)
    if is_object and language and isinstance(told := value.get("answer"), str):
        solution = value.get("solution") or phrases_in(language).gives_answer.format(answer=told)
        value = {**value, "solution": solution, "answer": glossed_answer(told, language)}
    if is_object and (named := _with_our_names(value)) != value:
        return import_row(named, _OWN_ROWS, language).problem
    annotated = with_annotated_solution(value) if is_object else None
    row = ProblemRow.model_validate(annotated or value)
    return import_row(annotated, _OWN_ROWS, language).problem if annotated else row


def import_row(cells: Mapping[str, Any], source: SourceFormat, language: str = "") -> ImportedRow:
    """Returns the row, checked as a run would check it; raises BadField or ValidationError."""
    if source.columns.get("question") == "question":
        cells = _with_our_names(cells)
    given = _mapped_cells(cells, source)
    form = source.solution
    if form == "prose" and (annotated := with_annotated_solution(given)):
        given, form = annotated, "annotated"
    fields: dict[str, Any] = {name: given[name] for name in ("question", "solution") if name in given}
    fields |= {name: given[name] for name in ("tolerance", "steps", "programs", "plan") if given.get(name) is not None}
    fields |= {name: str(given[name]) for name in ("detailed_solution", "outline") if given.get(name)}
    if given.get("id") not in (None, ""):
        fields["id"] = str(given["id"])
    if topic := given.get("topic"):
        # The first of several topics.
        fields["topic"] = str(topic[0] if isinstance(topic, list) else topic)
    told = given.get("answer")
    answer, worded = _answer(glossed_answer(told, language) if isinstance(told, str) else told, given.get("unit"))
    worded = told if worded is not None and isinstance(told, str) else worded
    is_told = form != "prose" or given.get("solution") not in (None, "")
    match form if is_told else "answer":
        case "annotated" if isinstance(given["solution"], str):
            fields["solution"], steps, stated = parse_annotated(given["solution"])
            stated = glossed_answer(stated, language)
            # The marks of other languages are read with their lines.
            if steps and not language:
                fields["steps"] = steps
            if stated and answer is None:
                answer, worded = _answer(stated, None)
            elif stated and not mentions(stated, AnswerRow.model_validate(answer)):
                raise BadField("answer", f"contradicts the {stated!r} that the solution ends with")
        case "program" if isinstance(given["solution"], str):
            fields["steps"] = steps_from_program(given["solution"])
            if returned := _returned(answer, given["solution"], fields["steps"]):
                fields["answer"] = returned
        case "answer":
            if not isinstance(given["answer"], dict):
                fields["solution"] = phrases_in(language).gives_answer.format(answer=given["answer"])
            fields.setdefault("steps", [_answer_step(answer)])
        case "raw":
            fields |= parse_raw(str(given["solution"]))
    if answer is not None:
        fields["answer"] = answer
    fields["extra"] = fields.get("extra", {}) | _extra(cells, given, source, worded)
    row, line = _checked(fields, language, states_answer=form in ("annotated", "program"))
    return ImportedRow(row, line, unread_answer=(worded or "") if answer is None else "")


def _with_our_names(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return with_our_names(row)
    except ManyTurns as error:
        raise BadField("text", str(error)) from None


def _returned(answer: dict[str, Any] | None, code: str, steps: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns the answer, or what the program returns if neither a column nor a step says it."""
    value = program_result(code)
    if answer is None:
        is_told = value is None or any("result" in step for step in steps)
        return None if is_told else {"value": tidy(value or 0.0)}
    if value is not None and not (
        is_rounded(answer["value"], value)
        and abs(answer["value"] - value) <= max(_COARSEST_ROUNDING, _PRINTED * abs(value))
    ):
        raise BadField("answer", f"is {answer['value']:g}, but the program returns {format_number(tidy(value))}")
    return answer


def _mapped_cells(cells: Mapping[str, Any], source: SourceFormat) -> dict[str, Any]:
    """Returns the cells by field name, for the fields that the source has a column for."""
    for need, columns in source.needed.items():
        if missing := missing_column([columns], cells):
            raise BadField(need, missing)
        if need in source.needs and all(cells.get(column) in (None, "") for column in columns):
            raise BadField(need, "is empty")
    return {
        # Rejects nan and inf in a field that takes part in calculations, and keeps them as text in any other.
        name: _plain(name, cells[column], float if name in FIELDS else repr)
        for name, column in source.columns.items()
        if column in cells
    }


def _answer(answer: Any, own: Any) -> tuple[dict[str, Any] | None, str | None]:
    """Returns the answer as a number, if it is one, and as text if the number does not express all of it."""
    if answer is None or answer == "":
        return None, None
    if isinstance(answer, dict):
        return answer, None
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return {"value": answer, "unit": str(own or "")}, None
    stated = stated_answer(answer) if isinstance(answer, str) else None
    if stated is None:
        return None, answer if isinstance(answer, str) else to_json(answer).decode()
    value, sign = stated
    exact = math.isfinite(value) and format_number(value) == answer.strip()
    return {"value": value, "unit": str(own or sign)}, None if exact else answer


def _extra(
    cells: Mapping[str, Any], given: Mapping[str, Any], source: SourceFormat, worded: str | None
) -> dict[str, Any]:
    """Returns the remaining cells that are not empty: by field name if the format maps the column, else by column."""
    own = given.get("extra") or {}
    extra: dict[str, Any] = dict(own) if isinstance(own, dict) else {"extra": own}
    extra |= {name: value for name, value in given.items() if name not in FIELDS}
    rate = stated_number(extra["solve_rate"]) if isinstance(extra.get("solve_rate"), str) else None
    if rate and math.isfinite(rate[0]) and not rate[1]:
        extra["solve_rate"] = rate[0]
    if worded is not None:
        extra["answer"] = worded
        extra |= {"unit": given["unit"]} if given.get("unit") else {}
    taken = {column for name, column in source.columns.items() if name in given}
    if isinstance(given.get("topic"), list):
        taken -= {source.columns["topic"]}
    for column, value in cells.items():
        if column not in taken and value != "":
            extra[column if column not in extra else f"source {column}"] = _plain(column, value)
    return extra


def _checked(fields: dict[str, Any], language: str, *, states_answer: bool) -> tuple[ProblemRow, str]:
    """Checks the row as a run will read it from its line of JSON."""
    row = ProblemRow.model_validate_json(to_json(fields))
    try:
        check_row(row, language)
    except BadField as bad:
        if bad.field != "answer" or not (states_answer and row.answer and mentions(row.solution, row.answer)):
            raise
        # The source stops before the answer.
        if "steps" in fields:
            fields["steps"].append(_answer_step(fields["answer"]))
        else:
            stated = format_value(row.answer.value, row.answer.unit)
            fields["solution"] += f"\n{phrases_in(language).gives_answer.format(answer=stated)}"
        row = ProblemRow.model_validate_json(to_json(fields))
        check_row(row, language)
    row = row.model_copy(update={"id": problem_id(row)})
    line = row.model_dump_json(exclude_defaults=True)
    if len(line) >= LONGEST_LINE:
        raise BadField("text", f"the row has {len(line):,} characters; {LONGEST_LINE:,} are allowed")
    return row, line


def _answer_step(answer: dict[str, Any] | None) -> dict[str, Any]:
    step: dict[str, Any] = {"ask": ENGLISH.asks_answer, "explanation": ENGLISH.states_answer}
    return step if answer is None else {**step, "result": {"symbol": "answer", "name": "answer", **answer}}


def _plain(field: str, value: Any, odd: Callable[[float], Any] = repr) -> Any:
    """Returns the value as JSON can express it; other types become text, and `odd` converts nan and inf."""
    match value:
        case str():
            if flaw := flaw_of(value):
                raise BadField(field, flaw)
            return value
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else odd(value)
        case dict():
            return {_plain(field, str(key)): _plain(field, inner, odd) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(field, inner, odd) for inner in value]
        case bytes():
            return value.hex()
        case _:
            return str(value)
