"""Rules for appropriate problems: sensible, plausible, fit for a school class, with something to calculate."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter

from soliloquy.runtime.beside import table_beside
from soliloquy_papers.mathwell.criteria.mentions import Mention
from soliloquy_papers.mathwell.criteria.parsed_problem import Objections, ParsedProblem, is_measure
from soliloquy_papers.mathwell.criteria.words import asks_for, stems
from soliloquy_papers.mathwell.readability import flesch_kincaid


def _table(name: str) -> dict[str, Any]:
    return table_beside(__file__, f"{name}.toml")


def _whole_words(patterns: list[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b" if patterns else r"(?!)", re.IGNORECASE)


class _Magnitude(BaseModel):
    about: str
    thing: str
    of: frozenset[str] = frozenset()
    words: re.Pattern[str] = re.compile("")
    unless: re.Pattern[str] = Field(default=re.compile(r"(?!)"), alias="not")
    rate: bool = False
    least: float = 0
    most: float


_KINDS: Mapping[str, Mapping[str, list[str]]] = _table("unsuitable")
_UNSUITABLE: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    kind: (_whole_words(row["words"]), _whole_words(row["unless"])) for kind, row in _KINDS.items()
}
# A single search in lower case takes a tenth of the time, and most texts contain none of the words.
_ANY_KIND = re.compile(
    rf"\b(?:{'|'.join(words for row in _KINDS.values() for words in (*row['words'], *row['unless']))})\b"
)
_MAGNITUDES = _table("magnitudes")
_LIMITS: Mapping[str, Any] = _MAGNITUDES["limits"]
_ROWS = TypeAdapter(list[_Magnitude]).validate_python(_MAGNITUDES["rows"])
_SENSE: Mapping[str, list[str]] = _table("appropriate")
_DIVISIBLE, _BELOW_ZERO = (frozenset(_SENSE[name]) for name in ("divisible", "below_zero"))


def nothing_to_do(problem: ParsedProblem) -> Objections:
    """The text gives the answer away."""
    asked = problem.question.asked
    if problem.result is None or problem.operations:
        return
    needs = any(asks_for(asked, name) for name in ("left", "total", "more", "not", "average", "area", "around"))
    mention = problem.links.mention(problem.result)
    if mention is not None and not needs:
        yield f"the text says the answer itself: {mention.value:g} {mention.thing}".rstrip()


def below_zero(problem: ParsedProblem) -> Objections:
    result = problem.answer
    if result is not None and result < 0 and not _BELOW_ZERO & (problem.question.words | {problem.question.thing}):
        yield f"there cannot be {result:g} {problem.question.thing}".rstrip()


def part_of_one(problem: ParsedProblem) -> Objections:
    """The answer is a fraction of something indivisible, such as half a child."""
    question = problem.question
    result = problem.answer
    if result is None or abs(result - round(result)) < 1e-6 or not question.asked.startswith("how many"):
        return
    thing = question.thing
    if not thing or is_measure(thing) or thing in _DIVISIBLE or asks_for(question.asked, "average"):
        return
    if not re.match(r"how many (?:times|more times)\b", question.asked):
        yield f"there cannot be {result:g} {thing}"


def implausible(problem: ParsedProblem) -> Objections:
    for one in problem.question.mentions:
        if one.share or one.factor:
            continue
        if abs(one.value) > _LIMITS["largest"]:
            yield f"{one.value:g} is no number for a school class"
        row = _limit(one, problem)
        if row and not row.least <= one.value <= row.most:
            yield f"{one.value:g} {one.thing} is out of reach: {row.about} goes from {row.least:g} to {row.most:g}"


def _limit(one: Mention, problem: ParsedProblem) -> _Magnitude | None:
    """Returns the row of the magnitudes that fits a number; treats compared amounts like stated ones."""
    sentence = problem.question.sentences[one.sentence].lower()
    words = stems(sentence)
    for row in _ROWS:
        fits = row.thing == one.thing or (row.thing == "*" and (one.thing in row.of or one.thing == "slice"))
        near = not row.of or bool(row.of & words)
        if fits and near and row.words.search(sentence) and not row.unless.search(sentence) and one.rate >= row.rate:
            return row
    return None


def beyond_grade(problem: ParsedProblem) -> Objections:
    grade = problem.problem.grade
    most = _LIMITS["by_grade"].get(str(grade)) if grade is not None else None
    if most is None:
        return
    numbers = [one.value for one in problem.question.mentions] + ([problem.result.value] if problem.result else [])
    if max(numbers, default=0) > most:
        yield f"{max(numbers):g} is too large for year {grade}, where numbers go up to {most:g}"


def unsuitable(problem: ParsedProblem) -> Objections:
    text = problem.question.text
    # Outside ASCII a letter may have more than two cases.
    if text.isascii() and not _ANY_KIND.search(text.lower()):
        return
    for kind, (words, unless) in _UNSUITABLE.items():
        # Blanks harmless phrases, so that the same word elsewhere in the text still counts.
        if found := words.search(unless.sub(" ", text)):
            yield f'{kind}: "{found[0]}"'


def hard_to_read(problem: ParsedProblem) -> Objections:
    grade = flesch_kincaid(problem.question.text)
    if grade > _LIMITS["reading_grade"]:
        yield f"it reads like a text for school year {grade:.1f}; {_LIMITS['reading_grade']:g} is the limit"
