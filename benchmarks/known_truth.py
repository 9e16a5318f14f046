"""Problems of which every row says what is true, and what conversations about them say that is false."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from benchmarks.brought import BROUGHT, received
from benchmarks.drawn_answers import DrawnAnswers
from benchmarks.labelled import cases
from soliloquy.truth.expressions import UNWORKABLE, BadExpression, parse_expression
from soliloquy.v1.conversation_pb2 import (
    ENDING_SOLVED,
    EVALUATION_CORRECT,
    EVALUATION_INCORRECT,
    Conversation,
    Problem,
    Turn,
)
from soliloquy.v1.sandbox_pb2 import STATUS_OK

# A number as the product's readers do not read it: any of its digits counts.
_NUMBER = re.compile(
    r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:\s*[×x*·]\s*10\s*\^?\s*\(?(?P<power>[-−]?\d+)|e(?P<e>[-+]?\d+))?"
)
_OPERAND = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
# With and without the brackets: one of them may belong to the sentence.
_CALCULATIONS = [
    re.compile(rf"{operand}(?:\s*[-−+*×·/÷]\s*{operand})+") for operand in (_OPERAND, rf"\(*{_OPERAND}\)*")
]
_EQUATION = re.compile(r"[\w+*/().-]*[a-z][\w+*/().-]*=\d+")
_SIGN = re.compile(r"\s*([-+*/=])\s*")
_SIGNS = str.maketrans("−×·÷", "-**/")
_CLOCK = re.compile(r"(\d+):(\d\d)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_MARKED = re.compile(r"<<[^<>]*>>")
_STATED = re.compile(r"####\s*(.*)")
# A number that is told as a result.
_TOLD = re.compile(r"(?:=|\b(?:is|are|makes|gives|get|to))\s*$")
# "the result of step 1".
_NUMBERS_A_STEP = re.compile(r"\bstep\s*$")
_GOES_ON = re.compile(r"\s*[-−+*×·/÷^]")
# Texts round to three digits.
_SAME = 0.006
# Reasons to send a message back that hold whether its answer is right or wrong.
_MANNERS = frozenset(["length", "repeated", "empty", "speaks_for"])


@dataclass(frozen=True, kw_only=True)
class KnownProblem:
    id: str
    problem: Problem
    # The answer that the row states apart from its solution; None if it states none.
    answer: float | None
    # The results that the row marks as such; empty if it marks none.
    marked: Sequence[float]

    @property
    def answers(self) -> Sequence[float]:
        """The answer as the row states it; in another unit as well where the row does not mark its numbers."""
        stated = [] if self.answer is None else [self.answer]
        return stated if stated and self.marked else [*stated, self.problem.answer.value]

    @property
    def results(self) -> Sequence[float]:
        """The right results of the steps: as the row marks them, else as its solution was read, and what it equates."""
        read = [step.result.value for step in self.problem.steps if step.HasField("result")]
        equated = [value for behind in self.problem.solution.split("=")[1:] for value in islice(numbers_in(behind), 1)]
        return [*self.answers, *(self.marked or read), *equated]

    @property
    def numbers(self) -> Sequence[float]:
        """The numbers that the problem gives away itself."""
        return [*self.results, *numbers_in(f"{self.problem.question} ; {self.problem.solution}")]

    def is_right(self, said: str, written: bool | None, right: Sequence[float]) -> bool | None:
        """Whether a message gives a right answer; None if it gives none. `written` says what was drawn for it."""
        if written is not True:
            return written
        if holds(said, right):
            return True
        solution = _SIGN.sub(r"\1", self.problem.solution)
        if any(one in solution for one in _EQUATION.findall(_SIGN.sub(r"\1", said))):
            # The row marks no equation in letters.
            return None
        return False if self.marked and [*numbers_in(said)] else None


def known_problems(form: str, most: int | None = None) -> list[KnownProblem]:
    """Returns the problems of `benchmarks brought` of which nothing is false, as somebody writes them in this form."""
    found = (_known(kind, labelled, form) for kind in FORMS[form] for labelled in _labelled(kind))
    # Two rows with one question could not be told apart in a prompt.
    return list({one.problem.question: one for one in islice(filter(None, found), most)}.values())


FORMS = {
    "prose": ("prose", "own", "answer"),
    "gsm8k": ("gsm8k",),
    "mathdial": ("gsm8k",),
    "answer only": ("gsm8k", "answer"),
}


def _labelled(kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted(BROUGHT.rglob(f"{kind}.jsonl")):
        yield from (labelled for labelled in cases(path) if not labelled["planted"])


def _known(kind: str, labelled: dict[str, Any], form: str) -> KnownProblem | None:
    row = labelled["row"]
    stated, unit = _stated_answer(row)
    if form == "mathdial":
        row = {"question": row["question"], "answer": _STATED.sub(r" \1", _MARKED.sub("", row["answer"]))}
    elif form == "answer only":
        if stated is None:
            return None
        written = f"{stated:.12g} {unit}".strip()
        row = {
            "question": row["question"],
            "solution": f"The answer is {written}.",
            "answer": {"value": stated, "unit": unit},
        }
        kind = "answer"
    problem, _ = received(row, kind)
    if problem is None or not problem.steps:
        return None
    marked = [value for mark in _MARKED.findall(str(labelled["row"].get("answer", ""))) for value in _result(mark)]
    return KnownProblem(id=labelled["id"], problem=problem, answer=stated, marked=marked)


def _result(mark: str) -> Iterator[float]:
    return islice(numbers_in(mark.rpartition("=")[2]), 1)


def _stated_answer(row: dict[str, Any]) -> tuple[float | None, str]:
    answer = row.get("answer")
    if isinstance(answer, dict):
        return float(answer["value"]), str(answer.get("unit", ""))
    marked = _STATED.search(str(answer or ""))
    if marked and (clock := _CLOCK.match(marked[1])):
        return _minutes(clock), "min"
    found = [*numbers_in(marked[1])] if marked else []
    return (found[0] if found else None), ""


def numbers_in(text: str) -> Iterator[float]:
    text = text.translate(_SUPERSCRIPTS)
    for found in _NUMBER.finditer(text):
        yield _value(found)
    for clock in _CLOCK.finditer(text):
        yield _minutes(clock)
    for written in (found for calculation in _CALCULATIONS for found in calculation.finditer(text)):
        with suppress(BadExpression, *UNWORKABLE):
            yield parse_expression(written[0].translate(_SIGNS)).value({})


def _minutes(clock: re.Match[str]) -> float:
    return 60.0 * int(clock[1]) + int(clock[2])


def _value(found: re.Match[str]) -> float:
    digits = re.split(r"[×x*·e]", found[0])[0]
    power = found["power"] or found["e"] or "0"
    return float(digits.replace(",", "").replace("−", "-").strip()) * 10.0 ** int(power.replace("−", "-"))


def is_among(value: float, values: Iterable[float]) -> bool:
    """Whether it is one of them, a percentage of one or its opposite."""
    return any(
        abs(abs(value) - abs(one * factor)) <= _SAME * abs(one * factor) for one in values for factor in (1, 100, 0.01)
    )


def is_verdict(turn: Turn) -> bool:
    return turn.tutor.evaluation in (EVALUATION_CORRECT, EVALUATION_INCORRECT)


def untrue_verdicts(conversation: Conversation, known: KnownProblem, drawn: DrawnAnswers) -> Iterator[str]:
    """Yields the turns in which the tutor calls right what is wrong, or wrong what is right."""
    # MathDial's tutor judges nothing but the answer to the whole problem.
    right = known.answers if conversation.run.recipe == "mathdial" else known.results
    for turn in filter(is_verdict, conversation.turns):
        is_right = known.is_right(turn.student.text, drawn.of(conversation, turn.calls).written, right)
        is_called_right = turn.tutor.evaluation == EVALUATION_CORRECT
        if is_right is not None and is_right != is_called_right:
            called = "right" if is_called_right else "wrong"
            yield f"{_place(known, turn)}: calls {turn.student.text!r} {called}"
    is_solved = conversation.ending == ENDING_SOLVED and known.answer is not None
    if is_solved and not any(holds(text, known.answers) for text in _texts(conversation.turns)):
        yield f"{known.id}: solved, and nobody comes to {known.answer:g}"


def _texts(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns:
        yield from (turn.student.text, turn.tutor.text)


def holds(text: str, values: Sequence[float]) -> bool:
    return any(is_among(number, values) for number in numbers_in(text))


def untrue_results(conversation: Conversation, known: KnownProblem) -> Iterator[str]:
    """Yields the turns in which the tutor tells what a program came to that is no result of the problem."""
    for turn in conversation.turns:
        for value in filter(lambda value: not is_among(value, known.results), _calculated(turn)):
            if any(is_among(number, [value]) for number in _told(turn, known.numbers)):
                yield f"{_place(known, turn)}: tells {value:g} in {turn.tutor.text!r}"


def _calculated(turn: Turn) -> Iterator[float]:
    """Yields what the last program came to itself."""
    for attempt in turn.calculation.attempts[-1:]:
        for one in attempt.execution.values if attempt.execution.status == STATUS_OK else ():
            kind = one.value.WhichOneof("kind")
            if kind in ("integer", "real") and not one.name.startswith("student"):
                yield float(getattr(one.value, kind))


def _told(turn: Turn, known: Sequence[float]) -> Iterator[float]:
    """Yields the numbers of a reply, but neither those of the student nor given ones that are no result there."""
    text, said = turn.tutor.text.translate(_SUPERSCRIPTS), [*numbers_in(turn.student.text)]
    for found in _NUMBER.finditer(text):
        value = _value(found)
        is_result = _TOLD.search(text[: found.start()]) and not _GOES_ON.match(text, found.end())
        if _NUMBERS_A_STEP.search(text[: found.start()]) or is_among(value, said):
            continue
        if is_result or not is_among(value, known):
            yield value


def sent_back(conversation: Conversation, known: KnownProblem, drawn: DrawnAnswers) -> Iterator[str]:
    """Yields the right answers that went back to the student, who was to be right."""
    taken_back = [turn for rewind in conversation.rewinds for turn in rewind.turns]
    for turn in (*conversation.turns, *taken_back):
        for one in turn.rejected:
            if one.role != "student" or one.rule in _MANNERS or not holds(one.text, known.results):
                continue
            if drawn.of(conversation, [turn.calls[place] for place in one.calls]) == (True, True):
                yield f"{_place(known, turn)}: {one.text!r} went back: {one.because}"


def _place(known: KnownProblem, turn: Turn) -> str:
    return f"{known.id}, turn {turn.number}"
