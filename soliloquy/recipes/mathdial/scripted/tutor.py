"""The scripted tutor: decides whether to calculate, chooses a move, and writes the message."""

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from soliloquy.recipes.mathdial.claims import is_right
from soliloquy.recipes.mathdial.moves import FAREWELL, INTENTS, OPENING
from soliloquy.recipes.mathdial.scripted.phrases import book, tutor_book
from soliloquy.recipes.mathdial.scripted.pupil import PupilSolution, claimed_answer, pupil_solution
from soliloquy.recipes.mathdial.worked_solutions import work_through
from soliloquy.recipes.plausibility import is_plausible
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase
from soliloquy.recipes.scripted.programs import description
from soliloquy.recipes.scripted.questions import questions_for
from soliloquy.recipes.scripted.stated import results_of, tutor_message
from soliloquy.truth.number_format import format_quantity, with_unit
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Problem, Step

_SAME = 0.01
# A student who doubts for so many messages does not find the way alone.
_STUCK = 2
_OPERATIONS = {" + ": "plus", " - ": "minus", " * ": "times", " / ": "over"}
_ASKED = ("is_more", "is_where", "is_right")


def decide(reading: ParsedPrompt, rng: Random) -> str:
    value = claimed_answer(reading.latest_reply, reading.problem)
    if value is None:
        return json.dumps({"Use Python": "n"})
    needed = {"Use Python": "y", "Description": description(_claimed_at(reading.problem, value), value, rng)}
    return json.dumps(needed, ensure_ascii=False)


def choose(reading: ParsedPrompt, rng: Random) -> str:
    evaluation = _evaluation(reading)
    exchange = len(reading.messages(student=False)) - 1
    move, intent = FAREWELL if evaluation == "correct" else _drawn(exchange, rng, doubting=_is_doubting(reading))
    if evaluation != "correct" and _is_stuck(reading) and rng.random() < book().tables["tutor"]["helps_the_stuck"]:
        move, intent = "telling", "reveal_strategy"
    if evaluation != "correct" and not exchange and _is_absurd(pupil_solution(reading).answer, reading.problem):
        move, intent = "probing", "seek_self_correction"
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
    found = pupil_solution(reading)
    if not before and intent == OPENING[1]:
        return tutor_message(_opening(reading, rng), ())
    steps = [step for step in reading.problem.steps if step.expression and step.number <= found.step.number]
    # Questions are about the wrong step, or at times about one that leads to it; who doubts is led to the wrong one.
    step = rng.choice([found.step, *steps])
    if intent == "reveal_answer" or _is_doubting(reading):
        step = found.step
    answer = with_unit(found.answer, reading.problem.answer.unit)
    # A quantity that is only converted has its name before and after.
    inputs = dict.fromkeys(known.name for known in step.inputs if known.name != step.result.name)
    last = reading.problem.steps[-1].result.name
    slots = {
        "name": result_name(step, reading.problem),
        "explanation": step.explanation,
        "inputs": " and the ".join(inputs),
        "pair": " and the ".join(inputs) if len(inputs) > 1 else "",
        "end": last if last != step.result.name else "",
        "equation": found.equation,
        "answer": answer,
        "calculation": next(line.numbers for line in work_through(reading.problem) if line.step.number == step.number),
        "value": format_quantity(step.result),
        "student": _called(reading),
        "right": format_quantity(reading.problem.answer),
        "hard": result_name(found.step, reading.problem),
    }
    asked = rng.choice(questions_for(step, reading.problem))
    is_told = intent == "guide_focus" and any(slots["value"] in text for text in before)
    said_by = "guide_back" if is_told else intent
    options: Sequence[str] = tutor_book(reading).wordings("tutor", "says", said_by, **slots, ask=asked)
    if intent == "seek_world_knowledge":
        options = [*options, *_about_operations(reading, f"{slots['calculation']} {found.equation}")]
    if intent == "greeting_farewell" and any(slots["right"] in text for text in before):
        options = [text for text in options if not book().cue("own_work").search(text)]
    if intent == "seek_self_correction" and _is_absurd(found.answer, reading.problem):
        options = tutor_book(reading).wordings("tutor", "absurd", **slots)
    if intent not in ("reveal_answer", "greeting_farewell"):
        options = [text for text in options if not _gives_away(text, reading.problem)]
        options = options or tutor_book(reading).wordings("tutor", "says", "calculation", **slots)
    said = [*_taking_up(reading, intent, found), Part(options=options)]
    text = capitalize(rephrase(said, rng, reading.word_limit, before, tutor_book(reading).style))
    if rng.random() < tutor_book(reading).tables["tutor"]["drops_full_stop"]:
        # As people type in a chat.
        text = text.removesuffix(".")
    is_telling = intent in ("reveal_answer", "greeting_farewell")
    return tutor_message(text, results_of(reading.problem) if is_telling else ())


def _opening(reading: ParsedPrompt, rng: Random) -> str:
    last = reading.problem.steps[-1].result.name
    slots = {"student": _called(reading), "name": last, "thing": reading.problem.question.split()[0]}
    said = tutor_book(reading)
    return " ".join(said.one_of(rng, "tutor", kind, **slots).strip() for kind in ("greeting", "walk_through"))


def _called(reading: ParsedPrompt) -> str:
    return reading.attributes("pupil").get("name", "")


def _about_operations(reading: ParsedPrompt, calculations: str) -> Iterator[str]:
    """Yields questions about the operations of these calculations."""
    for sign, kind in _OPERATIONS.items():
        if sign in calculations:
            yield from tutor_book(reading).wordings("tutor", "about", kind)


def _taking_up(reading: ParsedPrompt, intent: str, found: PupilSolution) -> list[Part]:
    """Answers what the student has just asked, or repeats what it said, before a question about it."""
    said = reading.messages(student=True)
    if said and intent not in ("greeting_farewell", "reveal_answer"):
        asked = next((kind for kind in _ASKED if book().cue(kind).search(said[-1])), "")
        if asked == "is_where" and intent not in ("guide_focus", "reveal_strategy", "ask_explanation"):
            asked = ""
        if asked:
            return [tutor_book(reading).part("tutor", "answering", asked)]
    if intent in ("greeting_farewell", "reveal_answer", "ask_explanation", "seek_self_correction") or not said:
        return []
    answer = with_unit(found.answer, reading.problem.answer.unit)
    shown = {
        "equation": found.equation if found.equation in said[-1] else "",
        "answer": answer if answer in said[-1] else "",
    }
    return [tutor_book(reading).optional("tutor", "taking_up", "doubt" if _is_doubting(reading) else "said", **shown)]


def _is_doubting(reading: ParsedPrompt, messages: int = 1) -> bool:
    """Whether each of the student's latest messages doubts its solution."""
    latest = reading.messages(student=True)[-messages:]
    return len(latest) == messages and all(book().cue("doubting").search(said) for said in latest)


def _is_stuck(reading: ParsedPrompt) -> bool:
    return _is_doubting(reading, _STUCK)


def _is_absurd(answer: str, problem: Problem) -> bool:
    return not is_plausible(float(answer), problem.answer.value, problem.answer.unit)


def _claimed_at(problem: Problem, value: float) -> Step:
    """Returns the step with this result, else the last step."""
    steps = [step for step in problem.steps if step.HasField("result")]
    own = [step for step in steps if abs(step.result.value - value) <= _SAME * abs(step.result.value)]
    return own[-1] if own else steps[-1]


def _evaluation(reading: ParsedPrompt) -> str:
    value = claimed_answer(reading.latest_reply, reading.problem)
    if value is None or not reading.has("output"):
        return "unclear"
    if "True" not in reading.output.values():
        return "incorrect"
    return "correct" if is_right(value, reading.problem) else "partial"


def _drawn(exchange: int, rng: Random, *, doubting: bool) -> tuple[str, str]:
    """Draws a move by its rate at this exchange, and one of its intents: one that helps a student who doubts."""
    rates: Mapping[str, Sequence[float]] = book().tables["tutor"]["moves"]
    shares = {move: by_exchange[min(exchange, len(by_exchange) - 1)] for move, by_exchange in rates.items()}
    shares["generic"] = 1 - sum(shares.values())
    move = rng.choices(list(shares), list(shares.values()))[0]
    likely = book().tables["tutor"]["intents_for_doubt" if doubting else "intents"]
    intents = [intent for intent in INTENTS[move] if intent in likely]
    return move, rng.choices(intents, [likely[intent] for intent in intents])[0]


def _gives_away(text: str, problem: Problem) -> bool:
    return any(is_right(number.value, problem) for number in numbers_in_digits(text))
