"""Loads a family from its file and precomputes all that does not depend on a draw."""

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path

from soliloquy.problems.bank.family import Family, grid
from soliloquy.problems.bank.family_file import BadFamily, ConceptTable, FamilyFile, read_family
from soliloquy.problems.bank.family_steps import StatedStep, WorkedStep, family_step
from soliloquy.problems.bank.wording import QuestionWording, slot_patterns, slots_in
from soliloquy.truth.expressions import BadExpression
from soliloquy.v1 import conversation_pb2 as pb


def load_family(path: Path) -> Family:
    """Loads a family; the folder of its file names the topic, the folder above names the bank."""
    file = read_family(path)
    try:
        steps = list(_steps(file))
    except BadExpression as error:
        raise BadFamily(f"{path.name}: {error}") from error
    complaint = next(_contradictions(file, steps), None)
    if complaint:
        raise BadFamily(f"{path.name}: {complaint}")
    slots = slot_patterns(file)
    givens = {symbol: grid(given) for symbol, given in file.given.items()}
    outline = pb.Problem(topic=path.parent.name, tolerance=file.tolerance, steps=[step.outline for step in steps])
    return Family(
        bank=path.parent.parent.name,
        topic=path.parent.name,
        name=path.stem,
        title=file.title,
        difficulty=file.difficulty,
        tolerance=file.tolerance,
        wordings=[QuestionWording(template=template, slots=slots) for template in file.questions],
        things=file.things,
        givens=givens,
        constants={symbol: row.value for symbol, row in file.constants.items()},
        units={symbol: row.unit for symbol, row in (file.given | file.constants).items()},
        steps=steps,
        outline=outline,
        count=len(file.questions)
        * prod(len(words) for words in file.things.values())
        * prod(values.count for values in givens.values()),
    )


def _steps(file: FamilyFile) -> Iterator[StatedStep | WorkedStep]:
    known = {
        symbol: pb.Quantity(symbol=symbol, name=row.name, unit=row.unit)
        for symbol, row in (file.given | file.constants).items()
    }
    converted: dict[str, str] = {}
    for number, table in enumerate(file.steps, start=1):
        step = family_step(table, number=number, known=known, converted=converted)
        if isinstance(step, WorkedStep):
            known[step.symbol] = step.outline.result
            if table.kind == "convert" and step.expression.symbols:
                converted[step.symbol] = step.expression.symbols[0]
        yield step


def _contradictions(file: FamilyFile, steps: Sequence[StatedStep | WorkedStep]) -> Iterator[str]:
    stated = {*file.things, *file.given}
    for question in file.questions:
        if stated - set(slots_in(question)):
            yield f"the question {question!r} leaves out {sorted(stated - set(slots_in(question)))}"
    for text in (*file.questions, *_texts(file)):
        if set(slots_in(text)) - stated - file.constants.keys():
            yield f"{text!r} has a slot that is neither a thing, a given quantity nor a constant"
    last = steps[-1]
    if file.answer and (not isinstance(last, WorkedStep) or last.symbol != file.answer):
        yield f"the last step does not yield the answer {file.answer}"
    yield from _unknown_symbols(file, [step for step in steps if isinstance(step, WorkedStep)])


def _texts(file: FamilyFile) -> Iterator[str]:
    for step in file.steps:
        yield from (step.ask, step.explanation)
        if isinstance(step, ConceptTable):
            yield from step.misconceptions


def _unknown_symbols(file: FamilyFile, steps: Sequence[WorkedStep]) -> Iterator[str]:
    known = {*file.given, *file.constants}
    for step in steps:
        if not step.expression.symbols:
            yield f"{step.expression.text!r} calculates with nothing that is given"
        # A way that the file states comes first. The rules' own ways use the symbols of the right expression.
        for expression in (step.expression, *(next(iter(ways.candidates)) for ways in step.wrong_ways)):
            unknown = sorted(set(expression.symbols) - known)
            if unknown:
                yield f"{expression.text!r} uses {unknown}, which no earlier step yields"
        if step.symbol in known:
            yield f"{step.symbol} is the result of a step but has a value before it"
        known.add(step.symbol)
