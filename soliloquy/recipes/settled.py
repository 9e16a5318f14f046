"""Holds a turn against settled values: the student's answer, its program, and the tutor's reply."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from soliloquy.recipes.agreement import code_verdict, verdict_is_true
from soliloquy.recipes.reached_values import computed_values
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.judge import fits_stated, judge, judge_text
from soliloquy.truth.ledger import Ledger, ledger_of
from soliloquy.truth.locales import gloss
from soliloquy.truth.number_format import format_number, format_value
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.stated_answer import denied_numbers
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import LEDGER_ROLE_ANSWER, Conversation, LedgerEntry, Problem, Turn

# The rest of a sentence that asks.
_QUESTION = re.compile(r"[^.!?\n]*\?")


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentAnswer:
    """A student's answer, and what is known of it."""

    # None if that is open, or if the student gives none, so that the value is that of the step at hand.
    right: bool | None = None
    # As the message says it; empty for one that gives no value, or whose value nobody named.
    said: str = ""
    # Whether a settled value says so.
    settled: bool = False
    # The entry that it was compared with.
    entry: LedgerEntry | None = None

    @property
    def known(self) -> str:
        """Returns the settled value: "v2 = 6 m/s"; empty for an answer that is no number."""
        return shown_entry(self.entry) if self.entry is not None else ""

    @property
    def output(self) -> str:
        """Returns what a program that is right would have come to."""
        verdict = "" if self.right is None else f"student_is_right = {self.right}"
        return "\n".join(filter(None, (self.known, verdict)))


def shown_entry(entry: LedgerEntry) -> str:
    own = entry.quantity
    return f"{own.symbol} = {format_value(own.value, own.unit)}"


def claimed_answer(turn: Turn, ledger: Ledger, step: int) -> StudentAnswer | None:
    """Judges what a message claims while a step is at hand; None if nobody says what it claims."""
    if not turn.student.claims_by:
        return None
    right, claim, entry = judge(turn.student.claims, ledger, step)
    said = format_value(claim.value, claim.unit) if claim is not None else ""
    return StudentAnswer(right=right, said=said, settled=right is not None, entry=entry)


def settled_answer(turn: Turn, problem: Problem, entry: LedgerEntry | None) -> StudentAnswer | None:
    """Judges a message that is to give the value of an entry, by its claims or else by its words.

    None if nothing settled decides.
    """
    ledger = ledger_of(problem)
    answer = claimed_answer(turn, ledger, entry.step if entry is not None else 0)
    if answer is None and entry is not None and ledger.is_settled(entry):
        text, asked = (gloss(one, problem.language) for one in (turn.student.text, asked_for(entry, problem)))
        right = judge_text(text, entry, ledger, asked)
        answer = StudentAnswer(right=right, settled=right is not None, entry=entry)
    return answer if answer is not None and answer.settled else None


def asked_for(entry: LedgerEntry, problem: Problem) -> str:
    """Returns the question that a value answers; empty for the result of a step that nobody asks for in words."""
    return problem.question if entry.role == LEDGER_ROLE_ANSWER else problem.steps[entry.step - 1].ask


def program_fault(turn: Turn, settled: StudentAnswer | None, problem: Problem) -> str:
    """Returns how a program contradicts the settled value, with both numbers; empty if it does not."""
    if settled is None or settled.entry is None:
        # A law or an idea that was read in words overrules no program.
        return ""
    if settled.right is None:
        return _other_value(turn, settled, problem)
    found = code_verdict(turn.calculation)
    if found in (settled.right, None):
        return ""
    values = ", ".join(map(format_number, computed_values(turn)))
    came_to = f"comes to {values} and " if values else ""
    is_so, is_not = ("right", "wrong") if found else ("wrong", "right")
    told = f" ({settled.known})" if settled.known else ""
    return f"it {came_to}calls {_quoted(settled)} {is_so}, although that is {is_not}{told}"


def _other_value(turn: Turn, settled: StudentAnswer, problem: Problem) -> str:
    """Returns that a program for the tutor's own use comes to no value that the problem knows."""
    values = [] if turn.calculation.overruled else computed_values(turn)
    ledger = ledger_of(problem)
    if not values or not settled.known or any(is_among(value, ledger.entries) for value in values):
        return ""
    return f"it comes to {', '.join(map(format_number, values))}, and {settled.known}"


def is_among(value: float, entries: Iterable[LedgerEntry]) -> bool:
    """Whether a value is that of an entry, in its unit or in base units."""
    return any(
        abs(value - form) <= one.tolerance * abs(form)
        for one in entries
        for form in (one.quantity.value, unit(one.quantity.unit).in_base(one.quantity.value))
    )


def reply_fault(turn: Turn, settled: StudentAnswer | None, conversation: Conversation) -> str:
    """Returns how a reply contradicts what is known: by its verdict, a result, a denial or a sum; else nothing.

    A value that is stated and not settled may be wrong, and so may whoever contradicts it: neither is known.
    """
    if settled is not None and verdict_is_true(turn, settled.right) is False:
        is_so = "right" if settled.right else "wrong"
        return f"it calls {_quoted(settled)} {'wrong' if settled.right else 'right'}, although that is {is_so}"
    ledger = ledger_of(conversation.problem)
    last = ledger.answer.step if ledger.answer is not None else 0
    if settled is None and verdict_is_true(turn, fits_stated(turn.student.claims, ledger, last)) is False:
        return "its verdict contradicts what the solution states, and nothing settles which of both is right"
    for claim in turn.tutor.claims:
        entry = judge([claim], ledger, 0).entry
        if entry is not None and fits_stated([claim], ledger) is False:
            return f"it tells {format_value(claim.value, claim.unit)}, and {shown_entry(entry)}"
    if settled is not None and settled.right and settled.entry is not None:
        value = settled.entry.quantity.value
        if any(abs(one.value - value) <= one.half for one in denied_numbers(turn.tutor.text)):
            return f"it denies {settled.known}"
    return _miscalculation(turn, conversation)


def _miscalculation(turn: Turn, conversation: Conversation) -> str:
    """Returns a sum of the tutor's own that is wrong; empty if it only asks about one, or takes up the student's."""
    text = turn.tutor.text
    for link in calculations_of(text):
        if not link.right and not _QUESTION.match(text, link.end):
            said = (one.student.text for one in conversation.turns if one.number <= turn.number)
            if not any(number.value == link.stated for words in said for number in numbers_in_digits(words)):
                return f"it says {link.text!r}, which does not come out"
    return ""


def _quoted(settled: StudentAnswer) -> str:
    return repr(settled.said) if settled.said else "what the student says"
