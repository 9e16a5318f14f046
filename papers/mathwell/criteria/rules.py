"""The rules: each yields its objections to a word problem, one sentence each."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter

from soliloquy.runtime.files import table_beside
from soliloquy_papers.mathwell.criteria.parsed_problem import Mention, ParsedProblem, is_same
from soliloquy_papers.mathwell.criteria.words import UNITS, stems
from soliloquy_papers.mathwell.readability import flesch_kincaid

Objections = Iterator[str]


def _whole_words(patterns: list[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b" if patterns else r"(?!)", re.IGNORECASE)


class _Magnitude(BaseModel):
    about: str
    thing: str
    of: frozenset[str] = frozenset()
    words: re.Pattern[str] = re.compile("")
    unless: re.Pattern[str] = Field(default=re.compile(r"(?!)"), alias="not")
    least: float = 0
    most: float


_KINDS: Mapping[str, Mapping[str, list[str]]] = table_beside(__file__, "unsuitable.toml")
_UNSUITABLE: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    kind: (_whole_words(row["words"]), _whole_words(row["unless"])) for kind, row in _KINDS.items()
}
# A single search in lower case takes a tenth of the time, and most texts contain none of the words.
_ANY_KIND = re.compile(
    rf"\b(?:{'|'.join(words for row in _KINDS.values() for words in (*row['words'], *row['unless']))})\b"
)
_MAGNITUDES = table_beside(__file__, "magnitudes.toml")
_LIMITS: Mapping[str, Any] = _MAGNITUDES["limits"]
_ROWS = TypeAdapter(list[_Magnitude]).validate_python(_MAGNITUDES["rows"])
_CALLS_FOR = [
    (row["what"], re.compile(rf"\b(?:{row['words']})\b"), frozenset(row["needs"]))
    for row in table_beside(__file__, "operations.toml")["asked"]
]
_SENSE: Mapping[str, list[str]] = table_beside(__file__, "appropriate.toml")
_DIVISIBLE, _BELOW_ZERO = (frozenset(_SENSE[name]) for name in ("divisible", "below_zero"))
# Questions whose answer takes an operation even if the text says the number.
_COMPARES = re.compile(
    r"\b(?:left|remain\w*|still|change|in all|in total|total|altogether|together|combined|sum|both|more|fewer|less"
    r"|difference|not|\w+n't|average|mean|area|perimeter|around)\b"
)


def asks_nothing(problem: ParsedProblem) -> Objections:
    if not problem.asked:
        yield "the text asks for nothing that could be calculated"
    elif not problem.mentions:
        yield "the text gives no number"


def missing(problem: ParsedProblem) -> Objections:
    for term in problem.invented:
        what = f" for {term.name.replace('_', ' ')}" if term.name else ""
        yield f"the answer needs a number that the text does not give: the code takes {term.value:g}{what}"


def result(problem: ParsedProblem) -> Objections:
    answer = problem.problem.answer
    if problem.result is not None and answer is not None and not is_same(problem.result.value, answer):
        yield f"the steps of the code come to {problem.result.value:g}, and its answer is {answer:g}"


def operation_missing(problem: ParsedProblem) -> Objections:
    # After "gives half away" the other half is left.
    if problem.result is None or any(0 < one.value < 1 or one.is_percentage for one in problem.mentions):
        return
    if "half" in problem.words:
        return
    for what, words, needed in _CALLS_FOR:
        if words.search(problem.asked) and not needed & problem.operations:
            yield f"{what} is asked for, and the code does not calculate it"


def left_out(problem: ParsedProblem) -> Objections:
    things = {problem.thing, "", *(one.thing for one in problem.sources.values())}
    for one in problem.unused if problem.operations else ():
        if one.thing in things:
            yield f"the code leaves out the {one.value:g} {one.thing}".rstrip()


def nothing_to_do(problem: ParsedProblem) -> Objections:
    """The text gives the answer away."""
    if problem.result is None or problem.operations or _COMPARES.search(problem.asked):
        return
    if (mention := problem.sources.get(id(problem.result))) is not None:
        yield f"the text says the answer itself: {mention.value:g} {mention.thing}".rstrip()


def below_zero(problem: ParsedProblem) -> Objections:
    answer = problem.answer
    if answer is not None and answer < 0 and not _BELOW_ZERO & problem.words:
        yield f"there cannot be {answer:g} {problem.thing}".rstrip()


def part_of_one(problem: ParsedProblem) -> Objections:
    """The answer is a fraction of something indivisible, such as half a child."""
    answer, thing = problem.answer, problem.thing
    if answer is None or abs(answer - round(answer)) < 1e-6 or not thing or thing in UNITS | _DIVISIBLE:
        return
    if not re.search(r"\baverage\b|\bmean\b|^how many (?:more )?times\b", problem.asked):
        yield f"there cannot be {answer:g} {thing}"


def implausible(problem: ParsedProblem) -> Objections:
    for one in problem.mentions:
        if one.is_percentage or 0 < one.value < 1:
            continue
        if abs(one.value) > _LIMITS["largest"]:
            yield f"{one.value:g} is no number for a school class"
        row = _limit(one)
        if row and not row.least <= one.value <= row.most:
            yield f"{one.value:g} {one.thing} is out of reach: {row.about} goes from {row.least:g} to {row.most:g}"


def _limit(one: Mention) -> _Magnitude | None:
    """Returns the row of the magnitudes that fits a number."""
    sentence = one.sentence.lower()
    words = stems(sentence)
    for row in _ROWS:
        fits = row.thing == one.thing or (row.thing == "*" and (one.thing in row.of or one.thing == "slice"))
        near = not row.of or bool(row.of & words)
        if fits and near and row.words.search(sentence) and not row.unless.search(sentence):
            return row
    return None


def beyond_grade(problem: ParsedProblem) -> Objections:
    grade = problem.problem.grade
    most = _LIMITS["by_grade"].get(str(grade)) if grade is not None else None
    largest = max([0.0, *(one.value for one in problem.mentions), *([problem.answer] if problem.answer else [])])
    if most is not None and largest > most:
        yield f"{largest:g} is too large for year {grade}, where numbers go up to {most:g}"


def unsuitable(problem: ParsedProblem) -> Objections:
    text = problem.problem.question
    # Outside ASCII a letter may have more than two cases.
    if text.isascii() and not _ANY_KIND.search(text.lower()):
        return
    for kind, (words, unless) in _UNSUITABLE.items():
        # Blanks harmless phrases, so that the same word elsewhere in the text still counts.
        if found := words.search(unless.sub(" ", text)):
            yield f'{kind}: "{found[0]}"'


def hard_to_read(problem: ParsedProblem) -> Objections:
    grade = flesch_kincaid(problem.problem.question)
    if grade > _LIMITS["reading_grade"]:
        yield f"it reads like a text for school year {grade:.1f}; {_LIMITS['reading_grade']:g} is the limit"
