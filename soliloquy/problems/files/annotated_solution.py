"""Parses solutions of GSM8K's form: a step per line, its calculation in <<48/2=24>>, the answer behind ####."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from soliloquy.problems.files.prose_solution import unit_at
from soliloquy.problems.files.stated_results import stated_number
from soliloquy.problems.files.step_questions import ENGLISH
from soliloquy.truth.expressions import BadExpression, parse_expression
from soliloquy.truth.units import unit_after

# Includes the number behind the mark, which repeats the result.
_ANNOTATION = re.compile(r"<<(?P<inside>[^<>]*)>>(?P<again>(?:-?\$?\d[\d,]*(?:\.\d+)?)?)")
_MARKS = re.compile(r"<<[^<>]*>>")
_SUBQUESTION = " ** "
# A calculation with its result, or a last line that ends with the answer; "####" may begin a heading elsewhere.
_FORM = re.compile(r"<<[^<>=]+=[^<>=]+>>|(?:^|(?<=\s))####[ \t]*[^\s#][^\n]*\s*\Z", re.MULTILINE)


def with_annotated_solution(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns a row of GSM8K's form, whose solution may stand as its answer; None for a row of another form."""
    fields = dict(row)
    if not fields.get("solution"):
        fields |= {"solution": fields.get("answer"), "answer": None}
    solution = fields["solution"]
    if fields.get("steps") is not None or fields.get("detailed_solution") or not isinstance(solution, str):
        return None
    return fields if _FORM.search(solution) else None


def parse_annotated(text: str) -> tuple[str, list[dict[str, Any]] | None, str]:
    """Returns the solution without marks, its steps, and the answer as written.

    The steps are None if the text has no marks: they are then read out of the prose. The answer may be empty.
    """
    body, answer = _without_answer(text)
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    steps = [step for line in lines for step in _steps_of_line(line)]
    for number, step in enumerate(steps, start=1):
        if "result" in step:
            step["result"] |= {"symbol": f"x{number}", "name": ENGLISH.result.format(number=number)}
    return _MARKS.sub("", body).strip(), steps if _MARKS.search(body) else None, answer


def _without_answer(text: str) -> tuple[str, str]:
    body, marked, answer = text.rpartition("####")
    if marked:
        return body, answer.strip()
    # MathDial omits the mark and writes the answer on a line of its own.
    body, _, last = text.rstrip().rpartition("\n")
    return (body, last.strip()) if body.strip() and stated_number(last) else (text, "")


def _steps_of_line(line: str) -> Iterator[dict[str, Any]]:
    ask, parted, worked = line.partition(_SUBQUESTION)
    if not parted:
        ask, worked = "", line
    ends = [match.end() for match in _ANNOTATION.finditer(worked)]
    for start, end in zip([0, *ends[:-1]], [*ends[:-1], len(worked)], strict=True):
        yield _step(worked[start:end], ask.strip() if start == 0 else "")


def _step(text: str, ask: str) -> dict[str, Any]:
    marked = _ANNOTATION.search(text)
    words = _MARKS.sub("", text).strip()
    if marked is None:
        return {"explanation": words, "ask": ask}
    arithmetic, _, result = marked["inside"].rpartition("=")
    stated = stated_number(result)
    if stated is None:
        return {"explanation": words or marked["inside"], "ask": ask}
    value, percent = stated
    # The text repeats the result behind the mark, with its unit.
    unit = percent or _unit(text, marked)
    return {
        "explanation": words or f"{arithmetic} = {result}",
        "ask": ask,
        "expression": _expression(arithmetic),
        "result": {"value": value, "unit": unit},
    }


def _unit(text: str, marked: re.Match[str]) -> str:
    if text[: marked.start()].endswith("$") or marked["again"].startswith("$"):
        return "$"
    known, end = unit_after(text, marked.end())
    measured = text[marked.end() : end].strip()
    return measured if known and known.measure else unit_at(text, marked.start("again"))


def _expression(arithmetic: str) -> str:
    """Returns an empty text if the annotation is not arithmetic in Python's notation, such as 20% * 5."""
    text = arithmetic.replace(",", "").replace("$", "").strip()
    try:
        return text if text and not parse_expression(text).symbols else ""
    except BadExpression:
        return ""
