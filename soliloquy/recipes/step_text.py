"""Writes the steps of a problem as prompts show them, each thing once."""

from soliloquy.recipes.words import words
from soliloquy.truth.number_format import format_quantity
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_PROSE, Problem, Step


def steps_text(problem: Problem, *, with_results: bool) -> str:
    """Numbers the steps; `with_results` adds what each comes to."""
    texts = (step_text(problem, step, with_result=with_results) for step in problem.steps)
    step = words(problem.language)["step"]
    return "\n".join(step.format(number=number, text=text) for number, text in enumerate(texts, start=1))


def step_text(problem: Problem, step: Step, *, with_result: bool) -> str:
    # A sentence of a solution in prose holds its calculation already.
    if problem.plan == PLAN_SOURCE_PROSE:
        return step.explanation
    is_told = bool(step.formula) and _packed(step.formula) in _packed(step.explanation)
    formula = "" if is_told else step.formula
    if with_result and step.HasField("result"):
        formula = f"{formula or step.result.symbol} = {format_quantity(step.result)}"
    return f"{step.explanation} {formula}".strip()


def _packed(text: str) -> str:
    return "".join(text.split())
