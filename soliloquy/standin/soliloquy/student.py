"""Plays the student: asks for help, then works at the step that the tutor has asked about."""

from random import Random

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.scene import Scene
from soliloquy.standin.claims import claims_in
from soliloquy.standin.phrasebook import BOOK, spoken
from soliloquy.standin.steps import (
    answer,
    idea_of,
    is_numeric,
    listed,
    numbers_of,
    spoken_formula,
    step_of,
    working,
    written,
)
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, Quantity, Slip, Step


def reply(scene: Scene, rng: Random) -> str:
    kind, step = scene.slot("kind"), step_of(scene)
    slots, results = {"name": step.result.name}, list[Quantity]()
    if kind == "opening":
        slots["question"] = " ".join(scene.problem.question.split())
    elif kind == "reason":
        slots["reason"] = idea_of(step)
    elif kind == "wrong":
        slip = _slip(scene, step, rng)
        kind = "mistake" if is_numeric(step) else "belief" if slip.working else "guess"
        shown = numbers_of(slip) if is_numeric(step) else slip.working.rstrip(".")
        slots |= {"because": slip.because, "working": shown, "value": format_value(slip.value, slip.unit)}
        results = [Quantity(symbol=step.result.symbol, value=slip.value)] if is_numeric(step) else []
    else:
        kind = _behaviour(scene, step, rng)
        results = [step.result] if is_numeric(step) else []
        slots |= {"formula": spoken_formula(step), "working": working(step), "answer": answer(step)}
        slots |= {"value": written(step.result), "some": listed(step.inputs[: (len(step.inputs) + 1) // 2])}
    text = spoken([BOOK.wordings("soliloquy", "student", kind, **slots)], rng, scene.messages(student=True))
    return StudentMessage.written(text=text, claims=claims_in(text, results if kind in ("number", "mistake") else ()))


def _behaviour(scene: Scene, step: Step, rng: Random) -> str:
    """Draws what the student does: mostly it answers; the rates of all else depend on how often it has replied here."""
    tables, tries = BOOK.tables["soliloquy"], int(scene.slot("tries"))
    factor = tables["hesitating"].get(scene.slot("knowledge"), 1.0)
    chance, drawn = 0.0, rng.random()
    for behaviour, rates in tables["rates"].items():
        if _is_possible(behaviour, step):
            chance += rates[min(tries, len(rates) - 1)] * factor
            if drawn < chance:
                return str(behaviour)
    return "number" if is_numeric(step) else "statement"


def _is_possible(behaviour: str, step: Step) -> bool:
    if behaviour == "partial":
        return bool(step.inputs and spoken_formula(step)) if is_numeric(step) else len(step.inputs) > 1
    return behaviour != "back" or step.number > 1


def _slip(scene: Scene, step: Step, rng: Random) -> Slip:
    """Returns the mistake that was drawn, or makes one up where the step knows none."""
    if known := [slip for slip in step.slips if slip.working == scene.slot("working")] or step.slips:
        return rng.choice(known)
    factor = rng.choice(BOOK.tables["soliloquy"]["slips"]["factors"])
    if is_numeric(step):
        return Slip(value=step.result.value * factor or factor, unit=step.result.unit)
    if step.kind != STEP_KIND_KNOWNS or not step.inputs:
        return Slip()
    given, *others = step.inputs
    misread = Quantity(symbol=given.symbol, name=given.name, value=given.value * factor or factor, unit=given.unit)
    return Slip(working=listed([misread, *others]))
