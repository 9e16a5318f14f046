"""Plays the tutor: decides whether to calculate, draws a move, and writes the message that makes it."""

import json
from collections.abc import Mapping, Sequence
from random import Random

from soliloquy.recipes.answers import TutorMessage
from soliloquy.recipes.mathdial.answers import MoveChoice
from soliloquy.recipes.mathdial.claims import is_right
from soliloquy.recipes.mathdial.moves import FAREWELL, INTENTS, OPENING
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scene import Scene
from soliloquy.standin.claims import claims_in
from soliloquy.standin.mathdial.solution import wrong_solution
from soliloquy.standin.phrasebook import BOOK, spoken
from soliloquy.standin.programs import description
from soliloquy.truth.judge import in_unit
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.number_format import format_value
from soliloquy.truth.quantities import calculations_in, values_in
from soliloquy.truth.stated_answer import answer_in
from soliloquy.v1.conversation_pb2 import Problem


def decide(scene: Scene, rng: Random) -> str:
    value = _claimed(scene)
    if value is None:
        return json.dumps({"Use Python": "n"})
    steps = [step for step in scene.problem.steps if step.HasField("result")]
    claimed = {claim.quantity for claim in scene.turn.student.claims}
    step = next((step for step in reversed(steps) if step.result.symbol in claimed), steps[-1])
    return json.dumps({"Use Python": "y", "Description": description(step, value)}, ensure_ascii=False)


def choose(scene: Scene, rng: Random) -> str:
    evaluation, exchange = _evaluation(scene), len(scene.messages(student=False)) - 1
    move, intent = FAREWELL if evaluation == "correct" else _drawn(exchange, rng)
    thoughts = BOOK.one_of(rng, "mathdial", "thoughts", evaluation)
    solved = "y" if evaluation == "correct" else "n"
    return MoveChoice.written(thoughts=thoughts, evaluation=evaluation, move=move, intent=intent, solved=solved)


def reply(scene: Scene, rng: Random) -> str:
    intent, before, problem = scene.slot("intent"), scene.messages(student=False), scene.problem
    found = wrong_solution(problem)
    is_telling = intent in ("reveal_answer", FAREWELL[1])
    # Questions are about the wrong step, or at times about one that leads to it.
    leading = [step for step in problem.steps if step.expression and step.number < found.step.number]
    step = found.step if is_telling or not leading or rng.random() < 0.5 else rng.choice(leading)
    inputs = dict.fromkeys(known.name for known in step.inputs if known.name not in ("", step.result.name))
    slots = {
        "student": scene.slot("name"),
        "name": result_name(step, problem),
        "ask": step.ask,
        "explanation": step.explanation,
        "inputs": " and the ".join(inputs),
        "equation": found.equation,
        "answer": found.answer,
        "value": format_value(step.result.value, step.result.unit),
        "right": format_value(problem.answer.value, problem.answer.unit),
    }
    intents = ["opening"] if not before and intent == OPENING[1] else [intent, "guide_focus", "seek_strategy"]
    said = (BOOK.wordings("mathdial", "tutor", one, **slots) for one in intents)
    options = next(filter(None, ([text for text in one if is_telling or not _tells(text, problem)] for one in said)))
    text = spoken([options], rng, before)
    results = [entry.quantity for entry in ledger_of(problem).results] if is_telling else []
    return TutorMessage.written(text=text, claims=claims_in(text, results))


def _tells(text: str, problem: Problem) -> bool:
    """Whether a text holds the answer, or a calculation that comes to it."""
    values = values_in(text) | {calculated.value for calculated in calculations_in(text)}
    return any(is_right(value, problem) for value in values)


def _claimed(scene: Scene) -> float | None:
    """Returns the value that a message claims; of one that says nothing beside its words, what it comes to."""
    if claims := scene.turn.student.claims:
        return in_unit(claims[-1], scene.problem.answer.unit)
    return answer_in(scene.turn.student.text, scene.problem.answer.unit, values_in(scene.problem.question))


def _evaluation(scene: Scene) -> str:
    value = _claimed(scene)
    if value is None or not scene.output:
        return "unclear"
    if "True" not in scene.output.values():
        return "incorrect"
    return "correct" if is_right(value, scene.problem) else "partial"


def _drawn(exchange: int, rng: Random) -> tuple[str, str]:
    """Draws a move by its rate at this exchange, and one of its intents."""
    rates: Mapping[str, Sequence[float]] = BOOK.tables["mathdial"]["moves"]
    shares = {move: by_exchange[min(exchange, len(by_exchange) - 1)] for move, by_exchange in rates.items()}
    shares["generic"] = 1 - sum(shares.values())
    move = rng.choices(list(shares), list(shares.values()))[0]
    likely = BOOK.tables["mathdial"]["intents"]
    intents = [intent for intent in INTENTS[move] if intent in likely]
    return move, rng.choices(intents, [likely[intent] for intent in intents])[0]
