"""The answers and the equations in a text."""

import re
from collections.abc import Iterator

from soliloquy.recipes import settled
from soliloquy.recipes.settled import StudentAnswer
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.judge import as_written, compare, in_unit, is_value_of, judge_text
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.locales import gloss
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.quantities import quantities_in, values_in
from soliloquy.v1.conversation_pb2 import Claim, Conversation, Problem, Turn

# "#### 1,234", with any text around the number.
_FINAL = re.compile(r"####\s*(.*)")
# "6 * 8 = <<6*8=48>>48", as many models have learned to write.
_MARK = re.compile(r"<<[^<>]*>>")
# "20%" in Python's notation.
_HUNDREDTHS = re.compile(r"\((\S+) / 100\)")
_OPERATOR = re.compile(r"[-+*/()]")


def final_answer(solution: str) -> float | None:
    """Returns the first number behind ####, if any."""
    found = _FINAL.search(solution)
    numbers = numbers_in_digits(found[1]) if found else iter(())
    return next((number.value for number in numbers), None)


def has_unsettled_number(conversation: Conversation) -> bool:
    return is_unsettled(conversation, conversation.turns[-1])


def is_unsettled(conversation: Conversation, turn: Turn) -> bool:
    """Whether the student's message answers with a number that no settled value decides."""
    return gives_number(turn, conversation.problem) and settled_answer(conversation, turn) is None


def decides(conversation: Conversation, turn: Turn) -> bool:
    """Whether the tutor decides on a calculation: only about a number that no settled value says the truth of."""
    return turn.HasField("calculation") or is_unsettled(conversation, turn)


def gives_number(turn: Turn, problem: Problem) -> bool:
    """Whether a student's message answers with a number: if nobody says so, one that the question does not contain."""
    if turn.student.claims_by:
        return claimed_value(turn, problem) is not None
    given = values_in(gloss(problem.question, problem.language))
    said = quantities_in(gloss(turn.student.text, problem.language))
    return any(not one.term and one.value not in given for one in said)


def claimed_value(turn: Turn, problem: Problem) -> float | None:
    """Returns the answer that a student claims, in the unit of the problem's answer where it says one."""
    claim = _claim(turn, problem)
    return in_unit(claim, problem.answer.unit) if claim is not None else None


def settled_answer(conversation: Conversation, turn: Turn) -> StudentAnswer | None:
    """Returns what settled values say of a student's answer; a number that no answer is meant by is none."""
    return settled.settled_answer(turn, conversation.problem, ledger_of(conversation.problem).answer)


def is_right(value: float, problem: Problem) -> bool | None:
    """Whether a number is the problem's answer; None if it may only have been rounded on the way."""
    answer = ledger_of(problem).answer
    return answer is not None and compare(as_written(Claim(value=value)), answer)


def gives_right(turn: Turn, problem: Problem) -> bool:
    """Whether a student's message comes to the problem's answer, settled or not."""
    if not turn.student.claims_by:
        return comes_to_answer(turn.student.text, problem)
    claim, answer = _claim(turn, problem), ledger_of(problem).answer
    return claim is not None and answer is not None and is_value_of(claim, answer)


def comes_to_answer(text: str, problem: Problem) -> bool:
    ledger = ledger_of(problem)
    return ledger.answer is not None and judge_text(gloss(text, problem.language), ledger.answer, ledger) is True


def _claim(turn: Turn, problem: Problem) -> Claim | None:
    """Returns what a student claims as the answer."""
    answer = ledger_of(problem).answer
    known = ("", answer.quantity.symbol) if answer is not None else ()
    return next((claim for claim in reversed(turn.student.claims) if claim.quantity in known), None)


def holds_answer(text: str, problem: Problem) -> bool:
    """Whether a text contains the right answer, as a number that the question does not contain."""
    given, numbers = (numbers_in_digits(gloss(one, problem.language)) for one in (problem.question, text))
    said = (number.value for number in numbers if number.value not in {one.value for one in given})
    return any(value == problem.answer.value for value in said)


def slips(text: str) -> Iterator[str]:
    """Yields the calculations of a message with a wrong result."""
    return (" ".join(link.text.split()) for link in calculations_of(text) if not link.right)


def equations(text: str) -> Iterator[tuple[list[float], float]]:
    """Yields the operands and the stated result of each calculation of a text."""
    return ((operands(link.expression), link.stated) for link in calculations_of(text))


def operands(expression: str) -> list[float]:
    written = _OPERATOR.sub(" ", _HUNDREDTHS.sub(r"\1", expression))
    return [number.value for number in numbers_in_digits(written)]


def as_handed_in(solution: str) -> str:
    """Returns the lines of a solution without its last one, the final answer, and without marks of equations."""
    stripped = _FINAL.sub("", _MARK.sub("", solution)).splitlines()
    return "\n".join(line.strip() for line in stripped if line.strip())
