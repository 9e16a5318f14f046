"""Plays the student: asks for help, then works at the step that the tutor has asked about."""

from collections.abc import Sequence
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.standin.phrasebook import Part, rephrase
from soliloquy.standin.slips import split_working
from soliloquy.standin.soliloquy.steps import (
    answer,
    answer_form,
    book,
    idea_of,
    is_numeric,
    list_values,
    spoken_formula,
    step_of,
    working,
    written,
)
from soliloquy.standin.stated import message
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, Quantity, Slip, Step

# Behaviour that has nothing to do with what the student knows.
_ASIDES = ("off_topic", "back")


def reply(scene: Scene, rng: Random) -> str:
    kind, results = scene.slot("kind"), list[Quantity]()
    if kind == "opening":
        parts = [
            _part("opening", question=" ".join(scene.problem.question.split())),
            book().optional("student", "plea"),
        ]
    elif kind == "reason":
        parts = [_part("reason", reason=idea_of(step_of(scene)))]
    elif kind == "wrong":
        slip = _slip(scene, step_of(scene), rng)
        parts = _wrong(scene, step_of(scene), slip, rng)
        results = [Quantity(symbol=step_of(scene).result.symbol, value=slip.value, unit=slip.unit)]
    else:
        step = step_of(scene)
        parts = _right(step, _behaviour(scene, step, rng), rng)
        results = [step.result]
    text = rephrase(parts, rng, scene.messages(student=True))
    return message(text, results if kind in ("right", "wrong") and is_numeric(step_of(scene)) else ())


def _part(*path: str, **slots: str) -> Part:
    return book().part("student", *path, **slots)


def _behaviour(scene: Scene, step: Step, rng: Random) -> str:
    """Draws a behaviour: mostly an answer; the rates of the others depend on how many messages the step has had."""
    table, tries = book().tables["student"], int(scene.slot("tries"))
    factor = table["hesitating"].get(scene.slot("knowledge"), 1.0)
    chance, drawn = 0.0, rng.random()
    for behaviour, rates in table["rates"].items():
        if _is_possible(behaviour, step):
            chance += rates[min(tries, len(rates) - 1)] * (1.0 if behaviour in _ASIDES else factor)
            if drawn < chance:
                return str(behaviour)
    return "answer"


def _is_possible(behaviour: str, step: Step) -> bool:
    if behaviour == "back":
        return step.number > 1
    if behaviour == "partial":
        return bool(step.inputs and spoken_formula(step.formula)) if is_numeric(step) else len(step.inputs) > 1
    return True


def _right(step: Step, behaviour: str, rng: Random) -> list[Part]:
    if behaviour == "partial":
        if is_numeric(step):
            return [_part("partial", "formula", formula=step.formula)]
        return [_part("partial", "knowns", some=list_values(step.inputs[: (len(step.inputs) + 1) // 2]))]
    if behaviour != "answer":
        return [_part(behaviour, name=step.result.name)]
    if not is_numeric(step):
        return [book().optional("student", "lead"), _part(answer_form(step), answer=answer(step))]
    formula, value = spoken_formula(step.formula), written(step.result)
    parts = [_part("number", formula=formula, working=working(step), value=value, name=step.result.name)]
    if rng.random() < book().tables["student"]["tells_idea"] and (idea := idea_of(step)):
        parts.insert(0, book().optional("student", "told_idea", reason=idea))
    return [book().optional("student", "lead"), *parts, book().optional("student", "tail")]


def _wrong(scene: Scene, step: Step, slip: Slip, rng: Random) -> list[Part]:
    """Gives the wrong answer of the mistake, and its reason if asked how, or now and then."""
    asked = scene.messages(student=False)[-1:]
    is_asked = any(book().cue("asks_how").search(text) for text in asked)
    formula, numbers = split_working(slip)
    because: Sequence[Part] = ()
    if slip.because and (is_asked or rng.random() < book().tables["student"]["gives_reason"]):
        because = [_part("belief", because=slip.because)]
    if not is_numeric(step):
        said = slip.working.rstrip(".")
        return [_part(answer_form(step), answer=said) if said else _part("guess"), *because]
    value = format_value(slip.value, slip.unit)
    if is_asked and numbers:
        return [*because, _part("worked", working=numbers, value=value)]
    told = _part("number", formula=spoken_formula(formula), working=numbers, value=value, name=step.result.name)
    return [book().optional("student", "lead"), *because, told]


def _slip(scene: Scene, step: Step, rng: Random) -> Slip:
    """Returns the mistake that was drawn, or makes one up where the step knows none."""
    if known := [slip for slip in step.slips if slip.working == scene.slot("working")] or step.slips:
        return rng.choice(known)
    factor = rng.choice(book().tables["student"]["slip_factors"])
    if is_numeric(step):
        return Slip(value=step.result.value * factor or factor, unit=step.result.unit)
    if step.kind != STEP_KIND_KNOWNS or not step.inputs:
        return Slip()
    given, *others = step.inputs
    misread = Quantity(symbol=given.symbol, value=given.value * factor or factor, unit=given.unit)
    return Slip(working=list_values([misread, *others]))
