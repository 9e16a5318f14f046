"""Makes a wrong solution of a known mistake where the model gives none."""

from soliloquy.recipes.mathdial.confusion import locate_error
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.recipes.mathdial.worked_solutions import WorkedLine, handed_in, mistakes
from soliloquy.runtime.seeds import draw
from soliloquy.truth.number_format import format_number, with_unit
from soliloquy.v1.conversation_pb2 import ErrorStrategy, Problem

# The error of a solution by the kind of its mistake; any other takes the question for another one.
CATEGORIES = {
    ErrorStrategy.ERROR_STRATEGY_REARRANGEMENT: "other",
    ErrorStrategy.ERROR_STRATEGY_CONVERSION: "conversion",
}


def mutated(problem: Problem, sampled: Confusion) -> Confusion | None:
    """Returns a plausible wrong solution with the mistake behind it; None if the problem knows none."""
    found = [(one, lines) for one in mistakes(problem) if one.slip.because and (lines := handed_in(problem, one))]
    if not found:
        return None
    mistake, lines = draw(problem.id, "mutation").choice(found)
    solution = "\n".join(map(_written, lines))
    confusion = Confusion(solution=solution, answer=lines[-1].value, belief=mistake.slip.because, mutated=True)
    confusion.MergeFrom(Confusion(samples=sampled.samples, discarded=sampled.discarded))
    place = 1 + next(at for at, line in enumerate(lines) if line.step.number == mistake.step.number)
    description = f"The student takes {mistake.numbers} for the {lines[place - 1].name}."
    category, line = locate_error(confusion, problem) or (CATEGORIES.get(mistake.slip.strategy, "question"), place)
    error = f"ERROR_CATEGORY_{category.upper()}"
    confusion.MergeFrom(Confusion(description=description, category=error, first_wrong_step=line))
    return confusion


def _written(line: WorkedLine) -> str:
    return f"The {line.name}: {line.numbers} = {with_unit(format_number(line.value), line.step.result.unit)}."
