"""Plays the student: tells its solution, holds on to it, doubts it, or works the problem out again."""

from random import Random

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.moves import intent_name
from soliloquy.recipes.mathdial.worked_solutions import work_through
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scene import Scene
from soliloquy.standin.claims import claims_in
from soliloquy.standin.mathdial.solution import wrong_solution
from soliloquy.standin.phrasebook import BOOK, spoken
from soliloquy.standin.steps import givens, listed
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import Quantity


def reply(scene: Scene, rng: Random) -> str:
    kind, problem = scene.slot("stance"), scene.problem
    found, again = wrong_solution(problem), work_through(problem)
    slots = {
        "name": result_name(found.step, problem),
        "equation": found.equation,
        "answer": found.answer,
        "belief": found.belief,
        "given": listed(givens(problem)[:3]),
        "right": format_value(problem.answer.value, problem.answer.unit),
        "lines": " ".join(f"{equation}." for equation in found.equations),
        "relines": " ".join(f"{line.equation}." for line in again),
    }
    options = BOOK.wordings("mathdial", "student", kind, **slots)
    if kind == "held":
        asked = intent_name(scene.record.turns[-1].tutor)
        known = asked in BOOK.tables["mathdial"]["asked"]
        options = (BOOK.wordings("mathdial", "asked", asked, **slots) if known else []) or options
    text = spoken([options], rng, scene.messages(student=True))
    meant = problem.answer.value if kind == "given_up" else confusion_of(problem.enrichment).answer
    answer = ledger_of(problem).answer
    results = [Quantity(symbol=answer.quantity.symbol, value=meant)] if answer else []
    return StudentMessage.written(text=text, claims=claims_in(text, results))
