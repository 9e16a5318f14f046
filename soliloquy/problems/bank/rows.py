"""Problems of a family as lines of a problem file: what no draw changes of a line is written once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from operator import itemgetter
from typing import Any

from pydantic_core import to_json

from soliloquy.problems.bank.family import Family
from soliloquy.problems.bank.family_steps import Board, StatedStep, WorkedStep
from soliloquy.problems.bank.wording import Wording
from soliloquy.problems.files.problem_row import kind_name, strategy_name
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Quantity

# Around the place of something drawn: inside a text, and where a number stands. No text holds them.
TEXT, NUMBER = "\ue000", "\ue001"


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """The line of a wording in pieces: every second one is picked from all that is drawn."""

    pieces: list[str]
    pick: Callable[[Sequence[object]], Sequence[object]]

    def filled(self, drawn: Sequence[object]) -> bytes:
        pieces = self.pieces.copy()
        pieces[1::2] = map(str, self.pick(drawn))
        return "".join(pieces).encode()


@dataclass(frozen=True, kw_only=True)
class Lines:
    family: Family

    def line(self, number: int) -> bytes:
        wording, board = self.family.board(number)
        source = self.family.source(number)
        # In the order of the marks.
        drawn: list[object] = [
            source,
            digest(source),
            *board.text.values(),
            *board.values.values(),
            *board.working.values(),
            *chain.from_iterable(chain.from_iterable(board.slips.values())),
        ]
        return self._forms[wording.template].filled(drawn)

    @cached_property
    def _forms(self) -> Mapping[str, Form]:
        return {wording.template: _form(self.family, wording) for wording in self.family.wordings}


def _form(family: Family, wording: Wording) -> Form:
    line = to_json(_row(family, wording)).decode() + "\n"
    # A number stands without the quotes that its mark was encoded with.
    pieces = line.replace(f'"{NUMBER}', TEXT).replace(f'{NUMBER}"', TEXT).split(TEXT)
    return Form(pieces=pieces, pick=itemgetter(*map(int, pieces[1::2])))


def _row(family: Family, wording: Wording) -> dict[str, Any]:
    """A row with a mark in each place of something drawn."""
    places = map(str, count())
    source, own_id = _mark(TEXT, next(places)), _mark(TEXT, next(places))
    _, drawn = family.board(0)
    text = {slot: _mark(TEXT, next(places)) for slot in drawn.text}
    numbers = {symbol: _mark(NUMBER, next(places)) for symbol in drawn.values}
    board = Board(text=text, working={symbol: _mark(TEXT, next(places)) for symbol in drawn.working})
    row: dict[str, Any] = {
        "id": own_id,
        "topic": family.topic,
        "question": wording.filled(board.text),
        "solution": "\n".join(step.line(board) for step in family.steps),
        "steps": [{**_step(step, board, numbers), "slips": _slips(step, board, places)} for step in family.steps],
        "extra": {"source": source, "difficulty": family.difficulty},
    }
    if family.tolerance:
        answer = family.steps[-1].outline.result
        row["answer"] = {"value": numbers[answer.symbol], "unit": answer.unit}
        row["tolerance"] = family.tolerance
    return row


def _mark(sort: str, place: str) -> str:
    return f"{sort}{place}{sort}"


def _step(step: StatedStep | WorkedStep, board: Board, numbers: Mapping[str, str]) -> dict[str, Any]:
    outline = step.outline
    row: dict[str, Any] = {
        "kind": kind_name(outline.kind),
        "ask": step.ask.format_map(board.text),
        "explanation": step.explanation.format_map(board.text),
    }
    if outline.formula:
        row["formula"] = outline.formula
    if isinstance(step, WorkedStep):
        row["expression"] = outline.expression
        row["inputs"] = [_quantity(quantity, numbers) for quantity in outline.inputs]
        row["result"] = _quantity(outline.result, numbers)
    return row


def _slips(step: StatedStep | WorkedStep, board: Board, places: Iterator[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, slip in enumerate(step.outline.slips):
        row = {"strategy": strategy_name(slip.strategy)} if slip.strategy else {}
        if isinstance(step, StatedStep):
            row["working"] = step.wrong[number].format_map(board.text)
        else:
            row["working"] = f"{step.symbol} = {_mark(TEXT, next(places))}"
            row["value"] = _mark(NUMBER, next(places))
        rows.append(row)
    return rows


def _quantity(quantity: Quantity, numbers: Mapping[str, str]) -> dict[str, Any]:
    symbol = quantity.symbol
    return {"symbol": symbol, "name": quantity.name, "value": numbers[symbol], "unit": quantity.unit}
