"""Hints at the current step without solving it."""

from collections.abc import Iterable, Mapping, Sequence

from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.soliloquy.scripted.phrases import book, tutor_book
from soliloquy.recipes.soliloquy.scripted.steps import (
    answer_form,
    gives_away,
    is_numeric,
    list_named_values,
    list_names,
    list_values,
    sentences,
    spoken_formula,
)
from soliloquy.texts.phrases import says
from soliloquy.truth.number_format import format_quantity
from soliloquy.truth.units import measured
from soliloquy.v1.conversation_pb2 import Step, StepKind


def hints(reading: ParsedPrompt) -> Sequence[str]:
    """Returns hints that reveal no value or formula of the steps ahead."""
    step = reading.step
    kind = StepKind.Name(step.kind).removeprefix("STEP_KIND_").lower()
    facts = step_facts(reading)
    return without_giveaways(tutor_book(reading).wordings("tutor", "hints", kind, **facts), reading)


def step_facts(reading: ParsedPrompt) -> Mapping[str, str]:
    """Returns what the tutor may say about the step without solving it; the explanation only once."""
    step = reading.step
    numeric = is_numeric(step)
    explanation = "" if _is_idea(step) or _was_said(step.explanation, reading) else step.explanation
    return {
        "name": step.result.name,
        "unit": measured(step.result.unit),
        "formula": spoken_formula(step.formula) if numeric else "",
        "inputs": _inputs(step) if numeric else "",
        "names": list_names(step.inputs) if len(step.inputs) > 1 else "",
        "explanation": "".join(without_giveaways([explanation], reading)),
    }


def _inputs(step: Step) -> str:
    """Lists what goes into a step, by names in words where its formula has those of a program."""
    return list_values(step.inputs) if spoken_formula(step.formula) else list_named_values(step.inputs)


def without_giveaways(options: Iterable[str], reading: ParsedPrompt) -> list[str]:
    problem, step = reading.problem, reading.step
    stated = "" if is_numeric(step) else step.formula
    return [text for text in options if not gives_away(text, problem, step) and not says(text, stated)]


def concept_wordings(reading: ParsedPrompt, text: str) -> Sequence[str]:
    """Explains the quantity that a student asks about, or the purpose of the step."""
    step, later = reading.step, reading.problem.steps[reading.step.number :]
    named = (known for known in (step.result, *step.inputs) if known.name and known.name.casefold() in text.casefold())
    asked = None if book().cue("why").search(text) else next(named, None)
    if asked is not None:
        known = asked.symbol != step.result.symbol
        quantity = {"name": asked.name, "symbol": asked.symbol, "unit": measured(asked.unit)}
        kind, slots = ("given", quantity | {"value": format_quantity(asked)}) if known else ("sought", quantity)
    elif later:
        kind, slots = "step", {"name": step.result.name, "later": later[0].ask}
    else:
        kind, slots = "last_step", {}
    return without_giveaways(tutor_book(reading).wordings("tutor", "concept", kind, **slots), reading)


def rest_of_idea(reading: ParsedPrompt) -> str:
    """Returns what the explanation adds to the idea itself, unless a later step asks for it."""
    step, later = reading.step, reading.problem.steps[reading.step.number :]
    rest = " ".join(sentences(step.explanation)[1:]) if _is_idea(step) else ""
    ideas = (sentences(other.explanation)[0] for other in later if _is_idea(other))
    return "" if gives_away(rest, reading.problem, step) or any(says(rest, idea) for idea in ideas) else rest


def _was_said(text: str, reading: ParsedPrompt) -> bool:
    return any(text in said for said in reading.messages(student=False))


def _is_idea(step: Step) -> bool:
    return not is_numeric(step) and answer_form(step) == "idea"
