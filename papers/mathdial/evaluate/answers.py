"""Decides whether a message gives a problem's answer, and not merely a number that looks like it.

A number is the answer if it has the right value, including its sign, in the answer's unit or another of the same kind,
in digits, fractions or words, with or without thousands separators. It may be rounded to the decimals that are written,
but not to tens or hundreds. It is not the answer if the sentence denies it, reports what somebody else said, takes it
back or supposes it, or if it is a term of a calculation. If a number of the question or another step's result has the
same value, a tutor tells the answer only in a sentence that names it as the answer or by the answer's own name. What a
student's message comes to needs no such name, and one who says what it claims is taken at its word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.runtime.files import table_beside
from soliloquy.texts.phrases import says
from soliloquy.truth.judge import as_written, compare
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.quantities import WrittenQuantity, quantities_in
from soliloquy.truth.stated_answer import answer_quantity
from soliloquy.v1.conversation_pb2 import LedgerEntry, Problem, Quantity, StudentReply

_CUES = table_beside(__file__, "answers.toml")
_BEFORE = [re.compile(cue, re.IGNORECASE) for cue in _CUES["before"].values()]
_AFTER = [re.compile(cue, re.IGNORECASE) for cue in _CUES["after"].values()]
_NAMES = re.compile(_CUES["names"]["answer"], re.IGNORECASE)
# Matches "minus 5", but not "10 minus 5".
_MINUS = re.compile(r"(?<![\d)])(?<![\d)]\s)\b(?:minus|negative)\s+$", re.IGNORECASE)
_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s|$)[^\n.!?]*)*[.!?\n]*")
_FINAL = re.compile(r"####\s*(.+)")
_RESULT = re.compile(r"=\s*([^<>=]+?)\s*>>")
# The tolerance for numbers that are equal up to rounding.
_EXACTLY = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedAnswer:
    """The answer that messages are compared with."""

    value: float
    # Empty if unknown.
    unit: str
    # Its symbol, by which a claim names it.
    symbol: str = ""
    name: str
    tolerance: float
    # The wrong answer of a sampled confusion; a number closer to it is not right, whatever the tolerance.
    wrong: float | None
    # Whether another quantity of the problem has the same value.
    shared: bool

    @classmethod
    def from_problem(cls, problem: Problem) -> Self | None:
        """Returns None if the problem has no numeric answer, neither set nor at the end of its solution."""
        answer = problem.answer if problem.HasField("answer") else _final_quantity(problem.solution)
        if answer is None:
            return None
        confusion = confusion_of(problem.enrichment)
        others = [number.value for number in numbers_in(problem.question)]
        others += [step.result.value for step in problem.steps[:-1] if step.HasField("result")]
        if not problem.steps:
            others += [number.value for found in _RESULT.findall(problem.solution)[:-1] for number in numbers_in(found)]
        return cls(
            value=answer.value,
            unit=answer.unit,
            symbol=answer.symbol,
            name=answer.name,
            tolerance=problem.tolerance or _EXACTLY,
            wrong=confusion.answer if confusion.samples else None,
            shared=any(abs(other - answer.value) <= _EXACTLY * abs(answer.value) for other in others),
        )


def reaches(message: StudentReply, wanted: ExpectedAnswer) -> bool:
    """Whether the student ends with the answer: what it claims, or what its statements come to."""
    if message.claims_by:
        named = (claim for claim in message.claims if claim.quantity in ("", wanted.symbol))
        return any(_is_quantity(as_written(claim), wanted) for claim in named)
    statements = " ".join(sentence for sentence in _sentences(message.text) if not sentence.endswith("?"))
    said = answer_quantity(statements, wanted.unit)
    return said is not None and _is_quantity(said, wanted)


def tells(message: str, wanted: ExpectedAnswer) -> bool:
    """Whether the tutor says the answer, even in a question."""
    return any(_is_answer(said, sentence, wanted) for sentence in _sentences(message) for said in _assertions(sentence))


def mentions(message: str, wanted: ExpectedAnswer) -> bool:
    """Whether the answer occurs at all: asserted, asked about, denied, or as an intermediate value."""
    return any(_is_answer(said, sentence, wanted) for sentence in _sentences(message) for said in _quantities(sentence))


def _sentences(text: str) -> Iterator[str]:
    return (found[0].strip() for found in _SENTENCE.finditer(text) if found[0].strip())


def _quantities(sentence: str) -> Iterator[WrittenQuantity]:
    for said in quantities_in(sentence):
        yield said._replace(value=-said.value) if _MINUS.search(sentence[: said.start]) else said


def _assertions(sentence: str) -> Iterator[WrittenQuantity]:
    for said in _quantities(sentence):
        before, after = sentence[: said.start], sentence[said.end :]
        denied = any(cue.search(before) for cue in _BEFORE) or any(cue.search(after) for cue in _AFTER)
        if not said.term and not denied:
            yield said


def _is_answer(said: WrittenQuantity, sentence: str, wanted: ExpectedAnswer) -> bool:
    if not _is_quantity(said, wanted):
        return False
    named = _NAMES.search(sentence) is not None or bool(wanted.name and says(sentence, wanted.name))
    return named or not wanted.shared


def _is_quantity(said: WrittenQuantity, wanted: ExpectedAnswer) -> bool:
    answer = Quantity(value=wanted.value, unit=wanted.unit)
    is_value = compare(said, LedgerEntry(quantity=answer, tolerance=wanted.tolerance)) is True
    is_nearer = wanted.wrong is None or abs(said.value - wanted.value) < abs(said.value - wanted.wrong)
    return is_value and is_nearer and not _counts_another_thing(said, wanted.unit)


def _counts_another_thing(said: WrittenQuantity, stated_unit: str) -> bool:
    """Whether it is "2 boxes" when the answer is in dollars."""
    counts = said.unit is None and len(said.word) > 3 and said.word.endswith("s") and not said.word.endswith("ss")
    return bool(stated_unit) and counts and not stated_unit.startswith(said.word.rstrip("s"))


def _final_quantity(solution: str) -> Quantity | None:
    found = _FINAL.search(solution)
    numbers = list(numbers_in(found[1] if found else solution))
    if not numbers:
        return None
    return Quantity(value=numbers[0 if found else -1].value)
