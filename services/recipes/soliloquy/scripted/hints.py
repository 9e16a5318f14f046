"""Help with a step that does not do the step."""

from collections.abc import Mapping, Sequence

from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step, StepKind

from services.recipes.soliloquy.scripted.numbers import told
from services.recipes.soliloquy.scripted.phrases import cue, wordings
from services.recipes.soliloquy.scripted.steps import answer_form, gives_away, is_numeric, listed, named, sentences
from services.truth.phrases import says


def hints(problem: Problem, step: Step, before: str) -> Sequence[str]:
    """Ways to hint at the step, none of which holds a value or formula that is still to be found.

    What the tutor has said before helped little; it is not said again.
    """
    kind = StepKind.Name(step.kind).removeprefix("STEP_KIND_").lower()
    misbeliefs = [slip.working for slip in step.slips if slip.working not in before] if _is_idea(step) else []
    options = [
        hint
        for misbelief in misbeliefs or [""]
        for hint in wordings("tutor", "hints", kind, **told_of(problem, step, before), misbelief=misbelief)
    ]
    return tactful(options, problem, step)


def told_of(problem: Problem, step: Step, before: str = "") -> Mapping[str, str]:
    """What may be said of a step without doing it; its explanation only once."""
    numeric = is_numeric(step)
    explanation = "" if _is_idea(step) or step.explanation in before else step.explanation
    return {
        "name": step.result.name,
        "unit": step.result.unit,
        "formula": step.formula if numeric else "",
        "inputs": listed(step.inputs) if numeric else "",
        "names": named(step.inputs) if len(step.inputs) > 1 else "",
        "explanation": "".join(tactful([explanation], problem, step)),
    }


def tactful(options: Sequence[str], problem: Problem, step: Step) -> list[str]:
    return [text for text in options if not gives_away(text, problem, step) and not _states(text, step)]


def about(problem: Problem, step: Step, text: str) -> Sequence[str]:
    """What can be said about the quantity a student asks about, or of what use the step is."""
    asked = None if cue("why").search(text) else _named_in(text, step)
    if asked is not None:
        known = asked.symbol != step.result.symbol
        quantity = {"name": asked.name, "symbol": asked.symbol, "unit": asked.unit}
        kind, slots = ("given", quantity | {"value": told(asked)}) if known else ("sought", quantity)
    elif step.number < len(problem.steps):
        kind, slots = "step", {"name": step.result.name, "later": problem.steps[step.number].ask}
    else:
        kind, slots = "last_step", {}
    return tactful(wordings("tutor", "concept", kind, **slots), problem, step)


def more(problem: Problem, step: Step) -> str:
    """What the explanation of an idea adds to the idea itself, unless it is what a later step asks for."""
    rest = " ".join(sentences(step.explanation)[1:]) if _is_idea(step) else ""
    later = (sentences(other.explanation)[0] for other in problem.steps[step.number :] if _is_idea(other))
    return "" if gives_away(rest, problem, step) or any(says(rest, idea) for idea in later) else rest


def _named_in(text: str, step: Step) -> Quantity | None:
    return next((q for q in (step.result, *step.inputs) if q.name and q.name.casefold() in text.casefold()), None)


def _is_idea(step: Step) -> bool:
    return not is_numeric(step) and answer_form(step) == "idea"


def _states(hint: str, step: Step) -> bool:
    return not is_numeric(step) and says(hint, step.formula)
