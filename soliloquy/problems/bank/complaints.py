"""What one table of a family's file says that another contradicts."""

from collections.abc import Iterator, Sequence

from soliloquy.problems.bank.family_file import ConceptTable, FamilyFile
from soliloquy.problems.bank.family_steps import StatedStep, WorkedStep
from soliloquy.problems.bank.wording import slots_in


def complaints(file: FamilyFile, steps: Sequence[StatedStep | WorkedStep]) -> Iterator[str]:
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
        # A way that the file states comes first; those of the rules use what the right one does.
        for expression in (step.expression, *(next(iter(ways.candidates)) for ways in step.wrong_ways)):
            unknown = sorted(set(expression.symbols) - known)
            if unknown:
                yield f"{expression.text!r} uses {unknown}, which no step before it yields"
        if step.symbol in known:
            yield f"{step.symbol} is the result of a step but has a value before it"
        known.add(step.symbol)
