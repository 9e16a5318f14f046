"""Makes a wrong solution of a known mistake where no sampled one will do: strong models are seldom wrong."""

from soliloquy.recipes.mathdial.claims import is_right
from soliloquy.recipes.mathdial.confusion import locate_error
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.recipes.mathdial.worked_solutions import Mistake, WorkedLine, mistakes, work_through
from soliloquy.runtime.seeds import draw
from soliloquy.truth.expressions import UNWORKABLE
from soliloquy.truth.number_format import format_number, with_unit
from soliloquy.truth.plausibility import is_plausible
from soliloquy.v1.conversation_pb2 import ErrorStrategy, Problem

# The error of a solution by the kind of its mistake; any other is a misread question.
CATEGORIES = {
    ErrorStrategy.ERROR_STRATEGY_REARRANGEMENT: "quantity",
    ErrorStrategy.ERROR_STRATEGY_CONVERSION: "conversion",
}


def mutated(problem: Problem, sampled: Confusion) -> Confusion | None:
    """Returns a plausible wrong solution with the mistake behind it; None if the problem knows none."""
    found = [(one, lines) for one in mistakes(problem) if one.sound and (lines := _handed_in(problem, one))]
    if not found:
        return None
    mistake, lines = draw(problem.id, "mutation").choice(found)
    solution = "\n".join(map(_written, lines))
    confusion = Confusion(solution=solution, answer=lines[-1].value, mutated=True)
    confusion.MergeFrom(Confusion(samples=sampled.samples, discarded=sampled.discarded))
    place = 1 + next(at for at, line in enumerate(lines) if line.step.number == mistake.step.number)
    category, line = locate_error(confusion, problem) or (CATEGORIES.get(mistake.slip.strategy, "question"), place)
    error = f"ERROR_CATEGORY_{category.upper()}"
    confusion.MergeFrom(Confusion(description=mistake.slip.because, category=error, first_wrong_step=line))
    return confusion


def _handed_in(problem: Problem, mistake: Mistake) -> list[WorkedLine]:
    """Works the problem through with a mistake; empty if nobody would hand in what it comes to."""
    try:
        lines = work_through(problem, mistake)
    except UNWORKABLE:
        return []
    last, right = lines[-1].value, problem.answer
    return lines if is_plausible(last, right.value, right.unit) and not is_right(last, problem) else []


def _written(line: WorkedLine) -> str:
    result = line.step.result
    return f"The {result.name}: {line.numbers} = {with_unit(format_number(line.value), result.unit)}."
