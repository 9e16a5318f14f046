"""Plays the student: shows the requested state, and sometimes another until the message is sent back."""

from random import Random

from soliloquy.recipes.scaffold.expected_answers import expects_formula, expects_number, final_number
from soliloquy.recipes.scaffold.learner import said, wrong_answers
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scene import Scene
from soliloquy.standin.phrasebook import Part, rephrase
from soliloquy.standin.scaffold.steps import book, step_of, target_of, working
from soliloquy.standin.slips import split_working
from soliloquy.standin.stated import message
from soliloquy.truth.number_format import written_value
from soliloquy.v1.conversation_pb2 import Quantity, Slip


def reply(scene: Scene, rng: Random) -> str:
    kind, step, target = scene.slot("shown"), step_of(scene), target_of(scene)
    if not scene.slot("rejected") and rng.random() < book().tables["student"]["rates"]["unlike"]:
        kind = rng.choice([other for other in POLICY["states"]["shares"] if other != kind])
    ways = [*wrong_answers(step, target)]
    slip = rng.choice([one for one in ways if one.working == scene.slot("working")] or ways or [Slip()])
    if kind == "correct":
        parts = [*_reason(scene), _right(scene)]
    elif kind == "incorrect":
        parts = _wrong(scene, slip, rng) if ways else [_says("mistaken")]
    else:
        parts = [_says(kind, name=step.result.name)]
    text = rephrase(parts, rng, scene.messages(student=True))
    # The last step that a sub-question covers may have no result of its own.
    expected = final_number(target.answer) if expects_number(target) else None
    if kind not in ("correct", "incorrect") or expected is None:
        return message(text, ())
    value = slip.value if kind == "incorrect" else expected.value
    return message(text, [Quantity(symbol=step.result.symbol, value=value)])


def _says(*path: str, **slots: str) -> Part:
    return book().part("student", "says", *path, **slots)


def _right(scene: Scene) -> Part:
    step, target = step_of(scene), target_of(scene)
    answer = target.answer.rstrip(".")
    is_worked = expects_number(target) and written_value(step.result.value, step.result.unit) == answer
    kind = "formula" if expects_formula(target.answer) else "correct"
    return _says(kind, answer=answer, working=working(step) if is_worked else "")


def _reason(scene: Scene) -> list[Part]:
    """Says why the answer before was right, if the tutor has asked for that along with what comes next."""
    return [_says("reason")] if _is_asked(scene, "asks_why") else []


def _wrong(scene: Scene, slip: Slip, rng: Random) -> list[Part]:
    """Gives the wrong answer of the misconception that was drawn, and its reason if asked or now and then."""
    target, is_asked = target_of(scene), _is_asked(scene, "asks_how")
    numbers = split_working(slip)[1]
    parts = []
    if slip.because and (is_asked or rng.random() < book().tables["student"]["rates"]["gives_reason"]):
        parts.append(_says("belief", because=slip.because))
    if expects_formula(target.answer) or not step_of(scene).HasField("result"):
        return [*parts, _says("wrongly", wrong=said(slip, target))]
    kind = "worked" if is_asked and numbers else "incorrect"
    return [*parts, _says(kind, wrong=numbers, slip=written_value(slip.value, slip.unit))]


def _is_asked(scene: Scene, cue: str) -> bool:
    return any(book().cue(cue).search(asked) for asked in scene.messages(student=False)[-1:])
