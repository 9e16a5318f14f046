"""Says beside a scripted message what it claims."""

from collections.abc import Iterable

from soliloquy.recipes.answers import StudentMessage, TutorMessage
from soliloquy.standin.slips import same
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.number_format import format_number
from soliloquy.truth.numbers import EXACT
from soliloquy.truth.quantities import calculations_in, quantities_in
from soliloquy.v1.conversation_pb2 import Problem, Quantity


def answer_symbol(problem: Problem) -> str:
    answer = ledger_of(problem).answer
    return answer.quantity.symbol if answer is not None else ""


def message(text: str, results: Iterable[Quantity]) -> str:
    """Returns the answer of a student who claims those of these results that its message says."""
    return StudentMessage.written(text=text, claims=claims_in(text, results))


def tutor_message(text: str, results: Iterable[Quantity]) -> str:
    """Returns the answer of a tutor who tells those of these results that its message says."""
    return TutorMessage.written(text=text, claims=claims_in(text, results))


def results_of(problem: Problem) -> list[Quantity]:
    return [entry.quantity for entry in ledger_of(problem).results]


def claims_in(text: str, results: Iterable[Quantity]) -> list[dict[str, str]]:
    """Returns those of these results that a message says, as its speaker claims them."""
    claims = []
    for result in results:
        known = [*calculations_in(text), *quantities_in(text)]
        written = [one for one in known if same(one.value, result.value)]
        if written:
            said = text[written[-1].start : written[-1].end].strip()
            value = said if written[-1].digits != EXACT else format_number(result.value)
            claims.append({"Quantity": result.symbol, "Value": value, "Unit": ""})
    return claims
