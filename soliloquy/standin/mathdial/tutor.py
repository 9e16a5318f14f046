"""Plays the tutor: decides whether to calculate, chooses a move, and writes the message."""

import json
from collections.abc import Mapping, Sequence
from random import Random

from soliloquy.recipes.mathdial.answers import MoveChoice
from soliloquy.recipes.mathdial.claims import is_right
from soliloquy.recipes.mathdial.labels_pb2 import ConversationLabels
from soliloquy.recipes.mathdial.moves import FAREWELL, INTENTS, OPENING
from soliloquy.recipes.mathdial.worked_solutions import work_through
from soliloquy.recipes.plausibility import is_plausible
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scene import Scene
from soliloquy.standin.mathdial.pupil import book, pupil_solution
from soliloquy.standin.phrasebook import Part, rephrase
from soliloquy.standin.programs import description
from soliloquy.standin.slips import same
from soliloquy.standin.stated import results_of, tutor_message
from soliloquy.truth.judge import in_unit
from soliloquy.truth.number_format import format_value, with_unit
from soliloquy.truth.quantities import calculations_in, values_in
from soliloquy.truth.stated_answer import answer_in
from soliloquy.v1.conversation_pb2 import Problem, Step

# A student who doubts for so many messages does not find the way alone.
_STUCK = 2


def decide(scene: Scene, rng: Random) -> str:
    value = _claimed(scene)
    if value is None:
        return json.dumps({"Use Python": "n"})
    needed = description(_claimed_at(scene, value), value)
    return json.dumps({"Use Python": "y", "Description": needed}, ensure_ascii=False)


def choose(scene: Scene, rng: Random) -> str:
    evaluation, found = _evaluation(scene), pupil_solution(scene)
    exchange = len(scene.messages(student=False)) - 1
    absurd = not is_plausible(float(found.answer), scene.problem.answer.value, scene.problem.answer.unit)
    move, intent = _drawn(exchange, rng, doubting=_is_doubting(scene))
    if evaluation == "correct":
        move, intent = FAREWELL
    elif not exchange and absurd:
        move, intent = "probing", "seek_self_correction"
    elif _is_doubting(scene, _STUCK) and rng.random() < book().tables["tutor"]["helps_the_stuck"]:
        move, intent = "telling", "reveal_strategy"
    return MoveChoice.written(
        thoughts=book().one_of(rng, "tutor", "thoughts", evaluation, name=found.step.result.name),
        evaluation=evaluation,
        move=move,
        intent=intent,
        solved="y" if evaluation == "correct" else "n",
    )


def reply(scene: Scene, rng: Random) -> str:
    intent, before = scene.slot("intent"), scene.messages(student=False)
    found, problem = pupil_solution(scene), scene.problem
    name = ConversationLabels.FromString(scene.record.labels).student_name
    if not before and intent == OPENING[1]:
        slots = {"student": name, "name": problem.steps[-1].result.name}
        said = [book().one_of(rng, "tutor", kind, **slots).strip() for kind in ("greeting", "walk_through")]
        return tutor_message(" ".join(said), ())
    is_telling = intent in ("reveal_answer", "greeting_farewell")
    # Questions are about the wrong step, or at times about one that leads to it; who doubts is led to the wrong one.
    steps = [step for step in problem.steps if step.expression and step.number <= found.step.number]
    step = found.step if is_telling or _is_doubting(scene) else rng.choice([found.step, *steps])
    inputs = dict.fromkeys(known.name for known in step.inputs if known.name not in ("", step.result.name))
    slots = {
        "name": result_name(step, problem),
        "ask": step.ask,
        "explanation": step.explanation,
        "inputs": " and the ".join(inputs),
        "pair": " and the ".join(inputs) if len(inputs) > 1 else "",
        "equation": found.equation,
        "answer": with_unit(found.answer, problem.answer.unit),
        "calculation": next(line.numbers for line in work_through(problem) if line.step.number == step.number),
        "value": format_value(step.result.value, step.result.unit),
        "student": name,
        "right": format_value(problem.answer.value, problem.answer.unit),
        "hard": result_name(found.step, problem),
    }
    options: Sequence[str] = book().wordings("tutor", "says", intent, **slots)
    if not is_telling:
        others = (book().wordings("tutor", "says", kind, **slots) for kind in (intent, "calculation", "guide_focus"))
        options = next(filter(None, ([text for text in each if not _tells(text, problem)] for each in others)), options)
    text = rephrase([Part(options=options)], rng, before)
    return tutor_message(text, results_of(problem) if is_telling else ())


def _tells(text: str, problem: Problem) -> bool:
    """Whether a text holds the answer, or a calculation that comes to it."""
    values = values_in(text) | {calculated.value for calculated in calculations_in(text)}
    return any(is_right(value, problem) for value in values)


def _is_doubting(scene: Scene, messages: int = 1) -> bool:
    """Whether each of the student's latest messages doubts its solution."""
    latest = scene.messages(student=True)[-messages:]
    return len(latest) == messages and all(book().cue("doubting").search(said) for said in latest)


def _claimed(scene: Scene) -> float | None:
    """Returns the value that a message claims; of one that says nothing beside its words, what it comes to."""
    if claims := scene.turn.student.claims:
        return in_unit(claims[-1], scene.problem.answer.unit)
    return answer_in(scene.turn.student.text, scene.problem.answer.unit, values_in(scene.problem.question))


def _claimed_at(scene: Scene, value: float) -> Step:
    """Returns the step whose result a message claims, else the one with this result, else the last step."""
    steps = [step for step in scene.problem.steps if step.HasField("result")]
    claimed = {claim.quantity for claim in scene.turn.student.claims}
    named = (step for step in reversed(steps) if step.result.symbol in claimed)
    alike = (step for step in reversed(steps) if same(step.result.value, value))
    return next(named, None) or next(alike, steps[-1])


def _evaluation(scene: Scene) -> str:
    value = _claimed(scene)
    if value is None or not scene.output:
        return "unclear"
    if "True" not in scene.output.values():
        return "incorrect"
    return "correct" if is_right(value, scene.problem) else "partial"


def _drawn(exchange: int, rng: Random, *, doubting: bool) -> tuple[str, str]:
    """Draws a move by its rate at this exchange, and one of its intents: one that helps a student who doubts."""
    rates: Mapping[str, Sequence[float]] = book().tables["tutor"]["moves"]
    shares = {move: by_exchange[min(exchange, len(by_exchange) - 1)] for move, by_exchange in rates.items()}
    shares["generic"] = 1 - sum(shares.values())
    move = rng.choices(list(shares), list(shares.values()))[0]
    likely = book().tables["tutor"]["intents_for_doubt" if doubting else "intents"]
    intents = [intent for intent in INTENTS[move] if intent in likely]
    return move, rng.choices(intents, [likely[intent] for intent in intents])[0]
