"""A family read from its file, with all that does not depend on a draw worked out."""

from collections.abc import Iterator
from math import prod
from pathlib import Path

from soliloquy.problems.bank.complaints import complaints
from soliloquy.problems.bank.family import Family
from soliloquy.problems.bank.family_file import BadFamily, FamilyFile, read_family
from soliloquy.problems.bank.family_steps import StatedStep, WorkedStep, family_step
from soliloquy.problems.bank.grid import grid
from soliloquy.problems.bank.wording import Wording, slot_patterns
from soliloquy.truth.expressions import BadExpression
from soliloquy.v1 import conversation_pb2 as pb


def load_family(path: Path) -> Family:
    """The family of a file, whose folder is its topic and the folder above that its bank."""
    file = read_family(path)
    try:
        steps = list(_steps(file))
    except BadExpression as error:
        raise BadFamily(f"{path.name}: {error}") from error
    complaint = next(complaints(file, steps), None)
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
        wordings=[Wording(template=template, slots=slots) for template in file.questions],
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
