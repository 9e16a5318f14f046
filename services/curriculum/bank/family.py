"""A family of problems: one piece of physics, whose words and values vary."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from soliloquy.v1 import conversation_pb2 as pb

from services.curriculum.bank.family_file import BadFamily, FamilyFile, read_family
from services.curriculum.bank.family_steps import ChosenLaw, Known, WorkedStep, family_step
from services.curriculum.bank.wording import Wording, slots_in, wording
from services.curriculum.working.expressions import BadExpression, in_working
from services.curriculum.working.figures import with_unit, written
from services.runtime.seeds import digest, seed


@dataclass(frozen=True, kw_only=True, slots=True)
class Amount:
    """A value that a given quantity may take, in each form that a text needs."""

    quantity: pb.Quantity
    written: str
    with_unit: str
    in_working: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What one draw settles."""

    wording: Wording
    things: Mapping[str, str]
    amounts: Mapping[str, Amount]


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    name: str
    title: str
    topic: str
    difficulty: int
    tolerance: float
    wordings: Sequence[Wording]
    things: Mapping[str, Sequence[str]]
    givens: Mapping[str, Sequence[Amount]]
    constants: Sequence[Amount]
    steps: Sequence[ChosenLaw | WorkedStep]

    def choice(self, number: int) -> Choice:
        """Reads a large number as one digit for each thing there is to choose."""
        number, which = divmod(number, len(self.wordings))
        things = {}
        for slot, words in self.things.items():
            number, position = divmod(number, len(words))
            things[slot] = words[position]
        amounts = {}
        for symbol, options in self.givens.items():
            number, position = divmod(number, len(options))
            amounts[symbol] = options[position]
        return Choice(wording=self.wordings[which], things=things, amounts=amounts)

    def recognised(self, question: str) -> Choice | None:
        """The choice that led to a question, where it is one of this family's."""
        for candidate in self.wordings:
            slots = candidate.slots_of(question)
            if slots is None:
                continue
            amounts = {
                symbol: amount
                for symbol, options in self.givens.items()
                for amount in options
                if amount.written == slots[symbol]
            }
            if amounts.keys() == self.givens.keys():
                return Choice(wording=candidate, things={slot: slots[slot] for slot in self.things}, amounts=amounts)
        return None

    def problem(self, choice: Choice, *, source: str) -> pb.Problem:
        """The problem of a choice: all but its id and source follows from the words and the values."""
        known = Known()
        slots = dict(choice.things)
        for amount in (*choice.amounts.values(), *self.constants):
            known.add(amount.quantity, amount.in_working)
            slots[amount.quantity.symbol] = amount.with_unit
        pick = seed(self.name, *known.texts.values())
        worked = [step.taken(number, known, slots, pick=pick) for number, step in enumerate(self.steps, start=1)]
        steps = [step for step, _ in worked]
        return pb.Problem(
            id=digest(source),
            topic=self.topic,
            question=choice.wording.filled(slots),
            solution="\n".join(line for _, line in worked),
            steps=steps,
            answer=steps[-1].result,
            tolerance=self.tolerance,
            source=source,
        )


def load_family(path: Path) -> Family:
    file = read_family(path)
    try:
        steps = list(_steps(file))
    except BadExpression as error:
        raise BadFamily(f"{path.name}: {error}") from error
    complaint = next(_complaints(file, steps), None)
    if complaint:
        raise BadFamily(f"{path.name}: {complaint}")
    return Family(
        name=path.stem,
        title=file.title,
        topic=file.topic,
        difficulty=file.difficulty,
        tolerance=file.tolerance,
        wordings=tuple(wording(template, file) for template in file.questions),
        things=file.things,
        givens={
            symbol: tuple(_amount(symbol, given.name, value, given.unit) for value in given.values())
            for symbol, given in file.given.items()
        },
        constants=tuple(_amount(symbol, row.name, row.value, row.unit) for symbol, row in file.constants.items()),
        steps=steps,
    )


def _amount(symbol: str, name: str, value: float, unit: str) -> Amount:
    return Amount(
        quantity=pb.Quantity(symbol=symbol, name=name, value=value, unit=unit),
        written=written(value),
        with_unit=with_unit(value, unit),
        in_working=in_working(value),
    )


def _steps(file: FamilyFile) -> Iterator[ChosenLaw | WorkedStep]:
    converted: dict[str, str] = {}
    for table in file.steps:
        step = family_step(table, converted)
        if isinstance(step, WorkedStep) and table.kind == "convert" and step.expression.symbols:
            converted[step.symbol] = step.expression.symbols[0]
        yield step


def _complaints(file: FamilyFile, steps: Sequence[ChosenLaw | WorkedStep]) -> Iterator[str]:
    """What one table says that another contradicts."""
    stated = {*file.things, *file.given}
    for question in file.questions:
        if stated - set(slots_in(question)):
            yield f"the question {question!r} leaves out {sorted(stated - set(slots_in(question)))}"
    texts = [*file.questions, *(text for step in file.steps for text in (step.ask, step.explanation))]
    for text in texts:
        if set(slots_in(text)) - stated - file.constants.keys():
            yield f"{text!r} has a slot that is neither a thing, a given quantity nor a constant"
    last = file.steps[-1].result
    if last is None or last.symbol != file.answer:
        yield f"the last step does not yield the answer {file.answer}"
    yield from _unknown_symbols(file, [step for step in steps if isinstance(step, WorkedStep)])


def _unknown_symbols(file: FamilyFile, steps: Sequence[WorkedStep]) -> Iterator[str]:
    known = {*file.given, *file.constants}
    for step in steps:
        for expression in (step.expression, *(way for ways in step.wrong_ways for way in ways.candidates)):
            unknown = sorted(set(expression.symbols) - known)
            if unknown:
                yield f"{expression.text!r} uses {unknown}, which no step before it yields"
        if step.symbol in known:
            yield f"{step.symbol} is the result of a step but has a value before it"
        known.add(step.symbol)
