"""A family of problems, loaded from its file: one question whose words and values vary."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path

from soliloquy.problems.bank.family_file import BadFamily, ConceptTable, FamilyFile, read_family
from soliloquy.problems.bank.family_steps import StatedStep, WorkedStep, Worksheet, family_steps
from soliloquy.runtime.seeds import digest
from soliloquy.truth.expressions import BadExpression, Expression, parse_expression
from soliloquy.truth.number_format import format_value, tidy, with_unit
from soliloquy.v1 import conversation_pb2 as pb

SLOT = re.compile(r"\{(\w+)\}")
NUMBER = r"[0-9.e-]+"


@dataclass(frozen=True, kw_only=True)
class QuestionWording:
    template: str
    # The template with the units and constants filled in.
    written: str
    # The pattern of each slot that is left: a drawn word or number.
    drawn: Mapping[str, str]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        seen: set[str] = set()
        pattern = ""
        for position, part in enumerate(SLOT.split(self.written)):
            if position % 2 == 0:
                pattern += re.escape(part)
            else:
                pattern += f"(?P={part})" if part in seen else f"(?P<{part}>{self.drawn[part]})"
                seen.add(part)
        return re.compile(pattern)


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    bank: str
    topic: str
    name: str
    file: FamilyFile
    wordings: Sequence[QuestionWording]
    steps: Sequence[StatedStep | WorkedStep]
    # The quantities that follow from drawn ones, in their order.
    derived: Mapping[str, Expression]
    # A problem without its texts and numbers.
    outline: pb.Problem
    # The number of problems: one for each number below it.
    count: int

    def number_of(self, question: str) -> int | None:
        """Returns the number of the problem with this question; None if it is not of this family."""
        for which, candidate in enumerate(self.wordings):
            match = candidate.pattern.fullmatch(question)
            if match is None:
                continue
            slots = match.groupdict()
            places = [(words.index(slots[slot]), len(words)) for slot, words in self.file.things.items()]
            drawn = self._drawn(slots)
            # A hidden number shows only in what follows from it.
            for positions in product(*drawn) if drawn is not None else ():
                grids = [given.count for given in self.file.given.values()]
                number = mixed_radix(((which, len(self.wordings)), *places, *zip(positions, grids, strict=True)))
                if not self.derived or candidate.template.format_map(self._drawn_sheet(number)[1].text) == question:
                    return number
        return None

    def _drawn(self, slots: Mapping[str, str]) -> list[Sequence[int]] | None:
        """Returns the positions that each given quantity may have; None if one is not among its values."""
        drawn: list[Sequence[int]] = []
        for symbol, given in self.file.given.items():
            position = None if given.hidden else given.position_of(slots[symbol])
            if position is None and not given.hidden:
                return None
            drawn.append(range(given.count) if position is None else (position,))
        return drawn

    def board(self, number: int) -> tuple[QuestionWording, Worksheet]:
        """Returns the wording of a problem, and the worksheet with the results and mistakes of its steps."""
        wording, board = self._drawn_sheet(number)
        for step in (step for step in self.steps if isinstance(step, WorkedStep)):
            step.work(board, pick=number)
        return wording, board

    def _drawn_sheet(self, number: int) -> tuple[QuestionWording, Worksheet]:
        """Decodes a problem's number as a mixed-radix number, one digit per choice; the steps are not worked."""
        rest, which = divmod(number, len(self.wordings))
        board = Worksheet()
        for slot, words in self.file.things.items():
            rest, position = divmod(rest, len(words))
            board.text[slot] = words[position]
        for symbol, given in self.file.given.items():
            rest, position = divmod(rest, given.count)
            board.write(symbol, given.value(position), given.unit)
        for symbol, expression in self.derived.items():
            board.write(symbol, tidy(expression.value(board.values)), self.file.derived[symbol].unit)
        for symbol, row in self.file.constants.items():
            board.write(symbol, row.value, row.unit)
        return self.wordings[which], board

    def problem(self, number: int) -> pb.Problem:
        """Returns the problem of a number, modulo `count`."""
        number %= self.count
        wording, board = self.board(number)
        problem = pb.Problem()
        problem.CopyFrom(self.outline)
        for step, own in zip(self.steps, problem.steps, strict=True):
            step.fill(own, board)
        problem.source = f"{self.bank}/{self.name}#{number}"
        problem.id = digest(problem.source)
        problem.question = wording.template.format_map(board.text)
        problem.solution = "\n".join(step.line(board) for step in self.steps)
        if problem.tolerance:
            problem.answer.CopyFrom(problem.steps[-1].result)
        return problem


def load_family(path: Path) -> Family:
    """Loads a family; the folder of its file names the topic, the folder above names the bank."""
    file = read_family(path)
    try:
        steps = list(family_steps(file))
        derived = {symbol: parse_expression(row.expression) for symbol, row in file.derived.items()}
    except BadExpression as error:
        raise BadFamily(f"{path.name}: {error}") from error
    if complaint := next(_contradictions(file, steps), None):
        raise BadFamily(f"{path.name}: {complaint}")
    choices = [*map(len, file.things.values()), *(given.count for given in file.given.values())]
    return Family(
        bank=path.parent.parent.name,
        topic=path.parent.name,
        name=path.stem,
        file=file,
        wordings=_wordings(file),
        steps=steps,
        derived=derived,
        outline=pb.Problem(
            topic=path.parent.name,
            tolerance=file.tolerance,
            steps=[step.outline for step in steps],
            plan=pb.PLAN_SOURCE_BANK,
        ),
        count=prod(choices, start=len(file.questions)),
    )


def mixed_radix(places: Iterable[tuple[int, int]]) -> int:
    """Returns the number with these mixed-radix digits, each with its base."""
    number, size = 0, 1
    for position, base in places:
        number += size * position
        size *= base
    return number


def _wordings(family: FamilyFile) -> Sequence[QuestionWording]:
    drawn = {slot: "|".join(map(re.escape, words)) for slot, words in family.things.items()}
    numbers = family.given | family.derived
    drawn |= dict.fromkeys(numbers, NUMBER)
    written = {slot: f"{{{slot}}}" for slot in family.things}
    written |= {symbol: with_unit(f"{{{symbol}}}", row.unit) for symbol, row in numbers.items()}
    written |= {symbol: format_value(row.value, row.unit) for symbol, row in family.constants.items()}
    return [
        QuestionWording(template=template, written=template.format_map(written), drawn=drawn)
        for template in family.questions
    ]


def _contradictions(file: FamilyFile, steps: Sequence[StatedStep | WorkedStep]) -> Iterator[str]:
    stated = {*file.things, *(symbol for symbol in file.known if symbol not in file.constants)}
    for question in file.questions:
        if stated - set(SLOT.findall(question)):
            yield f"the question {question!r} leaves out {sorted(stated - set(SLOT.findall(question)))}"
    for text in (*file.questions, *_texts(file)):
        if set(SLOT.findall(text)) - stated - file.constants.keys():
            yield f"{text!r} has a slot that is neither a thing, a given quantity nor a constant"
    last, worked = steps[-1], [step for step in steps if isinstance(step, WorkedStep)]
    if twice := file.things.keys() & {*file.given, *file.derived, *file.constants, *(step.symbol for step in worked)}:
        yield f"{sorted(twice)} are things and quantities"
    if file.answer and (not isinstance(last, WorkedStep) or last.symbol != file.answer):
        yield f"the last step does not yield the answer {file.answer}"
    yield from _unknown_symbols(file, worked)


def _texts(file: FamilyFile) -> Iterator[str]:
    for step in file.steps:
        yield from (step.ask, step.explanation)
        if isinstance(step, ConceptTable):
            yield from step.misconceptions


def _unknown_symbols(file: FamilyFile, steps: Sequence[WorkedStep]) -> Iterator[str]:
    known = {*file.known}
    for step in steps:
        if not step.expression.symbols:
            yield f"{step.expression.text!r} calculates with nothing that is given"
        # A way that the file states comes first. The rules' own ways use the symbols of the right expression.
        for expression in (step.expression, *(next(iter(way.candidates)) for way in step.wrong_ways)):
            unknown = sorted(set(expression.symbols) - known)
            if unknown:
                yield f"{expression.text!r} uses {unknown}, which no earlier step yields"
        if step.symbol in known:
            yield f"{step.symbol} is the result of a step but has a value before it"
        known.add(step.symbol)
