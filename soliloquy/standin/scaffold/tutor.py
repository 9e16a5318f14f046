"""Plays the tutor: describes calculations, assesses messages and replies."""

import json
from collections.abc import Sequence
from random import Random

from soliloquy.recipes.answers import StatedClaim
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scaffold.answers import tutored_text
from soliloquy.recipes.scaffold.expected_answers import final_number, gives_expected, revealed
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.memory import plan_of
from soliloquy.recipes.scaffold.reply_rules import count_questions
from soliloquy.recipes.scene import Scene
from soliloquy.runtime.model import ModelRefused
from soliloquy.standin.claims import claims_in
from soliloquy.standin.phrasebook import BOOK, spoken
from soliloquy.standin.programs import description
from soliloquy.standin.scaffold.questions import step_of
from soliloquy.standin.steps import listed
from soliloquy.texts.phrases import says
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.number_format import format_exact, format_number, written_value
from soliloquy.v1.conversation_pb2 import Quantity, Step

# The states that a message without an answer may show; the first whose cue it has counts.
_SHOWN = ("irrelevant", "confusion", "question", "comprehension")


def describe(scene: Scene, rng: Random) -> str:
    given = final_number(scene.turn.student.text)
    if given is None:
        raise ModelRefused(f"the message holds no number: {scene.turn.student.text[:80]!r}")
    step = step_of(scene)
    if not step.expression:
        # A step that calculates nothing states its result, or the problem's answer.
        value = (step.result if step.HasField("result") else scene.problem.answer).value
        result = Quantity(symbol="result", name="expected result", value=value)
        step = Step(expression=format_exact(value), result=result)
    return json.dumps({"Description": description(step, given.value)}, ensure_ascii=False)


def reply(scene: Scene, rng: Random) -> str:
    plan, at, step = plan_of(scene.problem).questions, int(scene.slot("number")) - 1, step_of(scene)
    state = _state(scene, plan[at])
    # A student who understands has solved the sub-question unless it is tested.
    solves = state == "correct" or (state == "comprehension" and scene.slot("understanding") != "tested")
    shown = "end" if solves and at == len(plan) - 1 else state
    slots = {
        "name": step.result.name,
        "answer": plan[at].answer.rstrip("."),
        "now": str(at + 1),
        "way": ", then ".join(one.answer.rstrip(".") for one in plan[:-1]),
    }
    analysis = BOOK.one_of(rng, "scaffold", "thoughts", shown, **slots)
    hidden = plan[at + solves :]
    if shown == "end":
        parts = [_said("end", **slots)]
    else:
        asked = hidden[0].question
        known = "\n".join(
            [scene.problem.question, asked, *(f"{one.question} {one.answer}" for one in plan[: at + solves])]
        )
        slots |= {"inputs": _inputs(step, known), "explanation": _explanation(step, hidden, known)}
        kind = "understood" if state == "comprehension" and not solves else state
        parts = [_said(kind, **slots), _question(scene, asked, again=state != "start" and not solves)]
    text = spoken(parts, rng, scene.messages(student=False))
    is_telling = solves or state == "comprehension"
    results = [entry.quantity for entry in ledger_of(scene.problem).results] if is_telling else []
    told = [StatedClaim.model_validate(one) for one in claims_in(text, results)]
    return tutored_text(analysis, shown, text, told)


def _said(situation: str, **slots: str) -> Sequence[str]:
    return BOOK.wordings("scaffold", "tutor", situation, **slots)


def _state(scene: Scene, current: SubQuestion) -> str:
    """Decides by the program's verdict, the expected answer, or cue words."""
    if not scene.messages(student=False):
        return "start"
    if scene.output:
        return "correct" if "True" in scene.output.values() else "incorrect"
    message = scene.turn.student.text
    if gives_expected(message, current):
        return "correct"
    plan = plan_of(scene.problem).questions
    about = f"{scene.problem.question} {' '.join(f'{one.question} {one.answer}' for one in plan)}".lower()
    return next((state for state in _SHOWN if _has(state, message, about)), "incorrect")


def _has(state: str, message: str, about: str) -> bool:
    """Whether a message has a state's cue; words that occur in the problem itself are not irrelevant."""
    cues = BOOK.cue("scaffold", state).finditer(message)
    return any(state != "irrelevant" or one[0].lower() not in about for one in cues)


def _explanation(step: Step, hidden: Sequence[SubQuestion], known: str) -> str:
    """Returns the explanation of a step; empty if it asks something or tells what is still to be found."""
    tells = "?" in step.explanation or any(revealed(step.explanation, hidden, known))
    return "" if tells else step.explanation


def _inputs(step: Step, text: str) -> str:
    """Lists what goes into a step, if all of it is known by now."""
    return listed(step.inputs) if all(known.name and _is_said(text, known) for known in step.inputs) else ""


def _is_said(text: str, known: Quantity) -> bool:
    return says(text, format_number(known.value)) or says(text, written_value(known.value, known.unit))


def _question(scene: Scene, asked: str, *, again: bool) -> Sequence[str]:
    """Puts a sub-question, or hands it back by the name of what it asks for."""
    steps = scene.problem.steps
    step = next((one for one in steps if one.ask == asked), None) or next(
        (one for one in reversed(steps) if one.result.name and one.result.name in asked), None
    )
    name = result_name(step, scene.problem) if step else ""
    options = [asked, *_said("again", name=name)] if again and name else [asked]
    return [text for text in options if count_questions(text) == 1] or [asked]
