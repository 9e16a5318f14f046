"""Plays the student: shows the requested state, and sometimes another until the message is sent back."""

from random import Random

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.scaffold.expected_answers import expects_formula, expects_number, final_number
from soliloquy.recipes.scaffold.learner import said, wrong_answers
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scene import Scene
from soliloquy.standin.claims import claims_in
from soliloquy.standin.phrasebook import BOOK, spoken
from soliloquy.standin.scaffold.questions import question_of, step_of
from soliloquy.standin.steps import numbers_of, working
from soliloquy.truth.number_format import written_value
from soliloquy.v1.conversation_pb2 import Quantity, Slip


def reply(scene: Scene, rng: Random) -> str:
    kind, step, target = scene.slot("shown"), step_of(scene), question_of(scene)
    if not scene.slot("rejected") and rng.random() < BOOK.tables["scaffold"]["rates"]["unlike"]:
        kind = rng.choice([other for other in POLICY["states"]["shares"] if other != kind])
    expected = final_number(target.answer) if expects_number(target) else None
    slots, claimed = {"name": step.result.name}, list[Quantity]()
    if kind == "correct":
        answer = target.answer.rstrip(".")
        is_worked = expected and written_value(step.result.value, step.result.unit) == answer
        slots |= {"answer": answer, "working": working(step) if is_worked else ""}
        claimed = [Quantity(value=expected.value)] if expected else []
    elif kind == "incorrect":
        ways = [*wrong_answers(step, target)]
        slip = rng.choice([one for one in ways if one.working == scene.slot("working")] or ways or [Slip()])
        is_way = expects_formula(target.answer) or not step.HasField("result")
        told = said(slip, target) if is_way else written_value(slip.value, slip.unit)
        slots |= {"slip": told, "working": "" if is_way else numbers_of(slip), "because": slip.because}
        claimed = [Quantity(value=slip.value)] if expected else []
        kind = "incorrect" if ways else "mistaken"
    text = spoken([BOOK.wordings("scaffold", "student", kind, **slots)], rng, scene.messages(student=True))
    # The last step that a sub-question covers may have no result of its own.
    results = [Quantity(symbol=step.result.symbol, value=one.value) for one in claimed]
    return StudentMessage.written(text=text, claims=claims_in(text, results))
