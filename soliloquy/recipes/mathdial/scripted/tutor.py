"""The scripted tutor: decides whether to calculate, chooses a move, and writes the message."""

import json
from collections.abc import Mapping, Sequence
from random import Random

from soliloquy.recipes.mathdial.claims import claimed_answer, is_right
from soliloquy.recipes.mathdial.moves import FAREWELL, INTENTS, OPENING
from soliloquy.recipes.mathdial.scripted.phrases import book
from soliloquy.recipes.mathdial.scripted.worked_solutions import pupil_solution, work_through
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase
from soliloquy.recipes.scripted.programs import description
from soliloquy.truth.number_format import format_quantity
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Problem, Step

_SAME = 0.01


def decide(reading: ParsedPrompt, rng: Random) -> str:
    value = claimed_answer(reading.latest_reply, reading.problem)
    if value is None:
        return json.dumps({"Use Python": "n"})
    needed = {"Use Python": "y", "Description": description(_claimed_at(reading.problem, value), value, rng)}
    return json.dumps(needed, ensure_ascii=False)


def choose(reading: ParsedPrompt, rng: Random) -> str:
    evaluation = _evaluation(reading)
    move, intent = FAREWELL if evaluation == "correct" else _drawn(len(reading.messages(student=False)) - 1, rng)
    thoughts = book().one_of(rng, "tutor", "thoughts", evaluation, name=pupil_solution(reading).step.result.name)
    choice = {
        "Thoughts": thoughts,
        "Evaluation": evaluation,
        "Move": move,
        "Intent": intent,
        "Solved": "y" if evaluation == "correct" else "n",
    }
    return json.dumps(choice, ensure_ascii=False)


def reply(reading: ParsedPrompt, rng: Random) -> str:
    intent = reading.attributes("move").get("intent", "")
    before = reading.messages(student=False)
    if not before and intent == OPENING[1]:
        return book().one_of(rng, "tutor", "says", "opening")
    found = pupil_solution(reading)
    steps = [step for step in reading.problem.steps if step.expression and step.number <= found.step.number]
    # Questions are about the wrong step, or sometimes about a step that leads to it.
    step = rng.choice([found.step, *steps])
    if intent == "reveal_answer":
        step = found.step
    slots = {
        "name": step.result.name,
        "ask": step.ask,
        "explanation": step.explanation,
        "inputs": " and the ".join(known.name for known in step.inputs),
        "equation": found.equation,
        "calculation": next(line.numbers for line in work_through(reading.problem) if line.step.number == step.number),
        "value": format_quantity(step.result),
    }
    options: Sequence[str] = book().wordings("tutor", "says", intent, **slots)
    if intent != "reveal_answer":
        options = [text for text in options if not _gives_away(text, reading.problem)]
        options = options or book().wordings("tutor", "says", "calculation", **slots)
    return capitalize(rephrase([Part(options=options)], rng, reading.word_limit, before))


def _claimed_at(problem: Problem, value: float) -> Step:
    """Returns the step with this result, else the last step."""
    steps = [step for step in problem.steps if step.expression]
    own = [step for step in steps if abs(step.result.value - value) <= _SAME * abs(step.result.value)]
    return own[-1] if own else steps[-1]


def _evaluation(reading: ParsedPrompt) -> str:
    value = claimed_answer(reading.latest_reply, reading.problem)
    if value is None or not reading.has("output"):
        return "unclear"
    if "True" not in reading.output.values():
        return "incorrect"
    return "correct" if is_right(value, reading.problem) else "partial"


def _drawn(exchange: int, rng: Random) -> tuple[str, str]:
    """Draws a move by its rate at this exchange of a conversation, and one of its intents."""
    rates: Mapping[str, Sequence[float]] = book().tables["tutor"]["moves"]
    shares = {move: by_exchange[min(exchange, len(by_exchange) - 1)] for move, by_exchange in rates.items()}
    shares["generic"] = 1 - sum(shares.values())
    move = rng.choices(list(shares), list(shares.values()))[0]
    likely = book().tables["tutor"]["intents"]
    intents = [intent for intent in INTENTS[move] if intent in likely]
    return move, rng.choices(intents, [likely[intent] for intent in intents])[0]


def _gives_away(text: str, problem: Problem) -> bool:
    return any(is_right(number.value, problem) for number in numbers_in_digits(text))
