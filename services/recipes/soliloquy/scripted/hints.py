"""Help with a step that does not do the step."""

from collections.abc import Sequence

from soliloquy.v1.conversation_pb2 import Problem, Step, StepKind

from services.recipes.soliloquy.scripted.phrases import wordings
from services.recipes.soliloquy.scripted.steps import gives_away, is_numeric, listed, named
from services.truth.phrases import says


def hints(problem: Problem, step: Step) -> Sequence[str]:
    """Ways to hint at the step, none of which holds a value or formula that is still to be found."""
    kind = StepKind.Name(step.kind).removeprefix("STEP_KIND_").lower()
    options = wordings(
        "tutor",
        "hints",
        kind,
        formula=step.formula if is_numeric(step) else "",
        inputs=listed(step.inputs) if is_numeric(step) else "",
        names=named(step.inputs),
        result=step.result.name,
        unit=step.result.unit,
        explanation=step.explanation if is_numeric(step) else "",
    )
    return [hint for hint in options if not gives_away(hint, problem, step) and not _states(hint, step)]


def about(step: Step, text: str) -> Sequence[str]:
    """What can be said about the quantity a student asks about, or about the step where they name none."""
    for quantity in [step.result, *step.inputs]:
        if quantity.name and quantity.name.casefold() in text.casefold():
            return wordings(
                "tutor", "concept", "quantity", name=quantity.name, symbol=quantity.symbol, unit=quantity.unit
            )
    return wordings("tutor", "concept", "step")


def _states(hint: str, step: Step) -> bool:
    return not is_numeric(step) and says(hint, step.formula)
