"""Plays the tutor: whether its reply needs a calculation, and the reply with its assessment of the message."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase
from soliloquy.recipes.scripted.programs import comparison, description
from soliloquy.recipes.scripted.questions import nudges, questions_for
from soliloquy.recipes.scripted.slips import kind_of_mistake, same, split_working
from soliloquy.recipes.scripted.stated import claims_in
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.recipes.soliloquy.scripted.closing import farewell, untold_idea
from soliloquy.recipes.soliloquy.scripted.hints import (
    concept_wordings,
    hints,
    rest_of_idea,
    step_facts,
    without_giveaways,
)
from soliloquy.recipes.soliloquy.scripted.phrases import book, tutor_book
from soliloquy.recipes.soliloquy.scripted.replies import Gist, ReplyReading, asked_why, read_reply
from soliloquy.recipes.soliloquy.scripted.steps import (
    answer,
    answer_form,
    is_algebra,
    is_numeric,
    sentences,
    spoken_formula,
    working,
)
from soliloquy.recipes.soliloquy.scripted.verdicts import calculated_number, verdict
from soliloquy.texts.phrases import says
from soliloquy.texts.utterances import content_words
from soliloquy.truth.algebra_answers import algebra, stated_algebra
from soliloquy.truth.number_format import format_quantity, format_rounded, with_unit
from soliloquy.truth.quantities import quantities_in
from soliloquy.v1.conversation_pb2 import Quantity, Slip, Step

# After this many wrong answers the tutor solves the step at the next one.
PATIENCE = 2
# The share of the explanation's content words that a reason has to say.
_REASON = 0.4
# The thoughts with which the tutor solves a step itself.
_TOLD = ("solution", "wrong_solved", "partial_solved")


class Move(NamedTuple):
    """The tutor's reaction to a message: the recipe's codes and the sentences that express them."""

    evaluation: str
    action: int
    # The key of the tutor's thought in phrases/hidden.toml.
    thought: str
    step: int
    state: str
    parts: Sequence[Part]


def decide(reading: ParsedPrompt, rng: Random) -> str:
    reply = read_reply(reading)
    if reply.gist is Gist.OPENING:
        return json.dumps({"Use Python": "n"})
    if stated := is_algebra(reading.step) and stated_algebra(reply.text, reading.step.formula):
        known = algebra(reading.step.formula)
        told = comparison(known, stated[-1], rng) if known else ""
        return json.dumps({"Use Python": "y", "Description": told}, ensure_ascii=False)
    solves = reply.gist is Gist.SOLUTION or (reply.gist is Gist.PARTIAL and reading.wrong_before >= PATIENCE)
    if not is_numeric(reading.step) or not (solves or reply.gist is Gist.NUMBER):
        return json.dumps({"Use Python": "n"})
    return json.dumps(
        {"Use Python": "y", "Description": description(reading.step, reply.value, rng)}, ensure_ascii=False
    )


def reply(reading: ParsedPrompt, rng: Random) -> str:
    said = read_reply(reading)
    if asked_why(reading) and said.gist not in (Gist.NUMBER, Gist.OFF_TOPIC):
        return written(_hear_reason(reading, said), reading, rng)
    move = _move(reading, said)
    if move.evaluation == "b" and said.gist is Gist.NUMBER and (idea := untold_idea(reading, said.text)):
        rates = tutor_book(reading).tables["tutor"]
        if rng.random() < rates["asks_why"]:
            asked = tutor_book(reading).part("tutor", "why", **step_facts(reading), **taken_up(reading, said))
            move = move._replace(state="q", parts=[asked])
        elif rng.random() < rates["explains"]:
            first, *others = move.parts
            explained = tutor_book(reading).optional("tutor", "explained", explanation=idea)
            move = move._replace(parts=[first, explained, *others])
    return written(move, reading, rng)


def _hear_reason(reading: ParsedPrompt, said: ReplyReading) -> Move:
    """Goes on after the reason for a right answer: it is confirmed, or given where the student has none."""
    known = set(content_words(reading.step.explanation))
    shared = len(known.intersection(content_words(said.text)))
    if says(said.text, reading.step.formula) or (known and shared >= len(known) * _REASON):
        return advance(reading, "b", 3, "right", [tutor_book(reading).part("tutor", "reason", "confirmed")])
    given = tutor_book(reading).part("tutor", "reason", "given", explanation=step_facts(reading)["explanation"])
    return advance(reading, "c", 5, "reason", [given])


def written(move: Move, reading: ParsedPrompt, rng: Random) -> str:
    """Returns the move as the answer that the recipe asks for."""
    text = capitalize(
        rephrase(move.parts, rng, reading.word_limit, reading.messages(student=False), tutor_book(reading).style)
    )
    is_telling = move.action in GIVING_ACTIONS or move.evaluation == "b"
    told = claims_in(text, _result_told(reading)) if is_telling else []
    fields = {
        "Thoughts of Tutorbot": book().one_of(rng, "hidden", "thoughts", move.thought, step=str(move.step)),
        "Evaluation of Student Response": move.evaluation,
        "Action Based on Evaluation": str(move.action),
        "Step Number": str(move.step),
        "Step State": move.state,
        "Tutorbot Response": text,
        "Results Told": told,
    }
    return json.dumps(fields, ensure_ascii=False)


def _result_told(reading: ParsedPrompt) -> Iterator[Quantity]:
    """Yields the result of the step at hand, as it was calculated for the reply."""
    if not is_numeric(reading.step):
        return
    number = calculated_number(reading.output) if reading.has("output") else None
    result = reading.step.result
    yield Quantity(symbol=result.symbol, value=result.value if number is None else number, unit=result.unit)


def _move(reading: ParsedPrompt, said: ReplyReading) -> Move:
    if reading.has("calculation") and reading.section("calculation") == "failed":
        return stay(reading, "d", 6, "uncalculated", [tutor_book(reading).part("tutor", "show_working")])
    match said.gist:
        case Gist.OPENING:
            return _open(reading, said.text)
        case Gist.NUMBER:
            return assess(reading, said, verdict(reading, said))
        case Gist.RIGHT | Gist.WRONG:
            found = verdict(reading, said)
            return assess(reading, said, said.gist is Gist.RIGHT if found is None else found)
        case Gist.PARTIAL if reading.wrong_before >= PATIENCE:
            return solve(reading, "c", 5, "partial_solved", "partial_solved")
        case Gist.PARTIAL:
            left = "number" if is_numeric(reading.step) else "knowns"
            return stay(
                reading, "c", 4, "partial", [tutor_book(reading).part("tutor", "partial", left, **step_facts(reading))]
            )
        case Gist.HINT:
            hinting = tutor_book(reading).optional("tutor", "hinting", name=reading.step.result.name)
            return stay(reading, "f", 8, "hint", [hinting, Part(options=hints(reading))])
        case Gist.SOLUTION:
            return solve(reading, "f", 9, "solution", "gladly")
        case Gist.BACK if reading.step.number > 1:
            before = reading.problem.steps[reading.step.number - 2]
            return Move(
                "f",
                10,
                "back",
                before.number,
                "q",
                [tutor_book(reading).part("tutor", "back"), question(before, reading)],
            )
        case Gist.BACK:
            return stay(reading, "f", 11, "concept", [tutor_book(reading).part("tutor", "at_the_start")])
        case Gist.CONCEPT:
            concept = Part(options=concept_wordings(reading, said.text))
            return stay(reading, "f", 11, "concept", [tutor_book(reading).optional("tutor", "good_question"), concept])
        case Gist.OFF_TOPIC:
            return stay(
                reading, "e", 7, "off_topic", [tutor_book(reading).part("tutor", "refocus", **step_facts(reading))]
            )
        case _:
            return stay(
                reading, "d", 6, "unclear", [tutor_book(reading).part("tutor", "clarify", **step_facts(reading))]
            )


def _open(reading: ParsedPrompt, text: str) -> Move:
    """Gives a hint to a student who asks how to begin, and welcomes any other."""
    for sentence in sentences(reading.problem.question):
        text = text.replace(sentence, "")
    if not book().cue("begin").search(text):
        return stay(reading, "g", 12, "opening", [tutor_book(reading).part("tutor", "welcome")])
    hint = Part(options=hints(reading))
    return stay(reading, "f", 8, "opening", [tutor_book(reading).part("tutor", "way_in"), hint])


def assess(reading: ParsedPrompt, said: ReplyReading, right: bool | None) -> Move:
    if right is None:
        return stay(reading, "d", 6, "uncalculated", [tutor_book(reading).part("tutor", "show_working")])
    facts = step_facts(reading)
    if right:
        form = "number" if is_numeric(reading.step) else answer_form(reading.step)
        up = taken_up(reading, said)
        confirmed = tutor_book(reading).part("tutor", "right", form, **facts, **up, more=rest_of_idea(reading))
        recap = Part(
            options=tutor_book(reading).wordings("tutor", "recap", name=facts["name"], **up), optional=True, recaps=True
        )
        return advance(reading, "b", 3, "right", [confirmed, recap] if is_numeric(reading.step) else [confirmed])
    if reading.wrong_before >= PATIENCE:
        return solve(reading, "a", 2, "wrong_solved", "wrong_solved")
    return _object(reading, said)


def _object(reading: ParsedPrompt, said: ReplyReading) -> Move:
    """Speaks to the working that the student has shown, or asks for it: nobody is told a cause that was not shown."""
    facts, slip, step = step_facts(reading), said.slip(reading.step), reading.step
    up = taken_up(reading, said, slip)
    lead = tutor_book(reading).part("tutor", "wrong", **facts)
    if is_numeric(step) and up["said"] and not up["working"] and not _has_asked_how(reading):
        return Move("a", 1, "wrong", step.number, "q", [lead, tutor_book(reading).part("tutor", "asking_how", **up)])
    kind = ""
    if not is_numeric(step):
        kind = "believed_formula" if step.formula and facts["explanation"] else "believed"
    elif up["working"]:
        kind = kind_of_mistake(slip, step)
    spoken = (
        without_giveaways(tutor_book(reading).wordings("tutor", "mistake", kind, **facts, **up), reading)
        if kind
        else []
    )
    # A hint alone does not say that something is wrong.
    lead = replace(lead, optional=bool(spoken))
    return stay(reading, "a", 1, "wrong", [lead, Part(options=spoken or hints(reading))])


def _has_asked_how(reading: ParsedPrompt) -> bool:
    return any(book().cue("asks_how").search(asked) for asked in reading.messages(student=False)[-1:])


def taken_up(reading: ParsedPrompt, said: ReplyReading, slip: Slip | None = None) -> dict[str, str]:
    """Returns what a reply may repeat of the student's message: the number as it was written, and its working."""
    values = [one for one in quantities_in(said.text) if said.value is not None and same(one.value, said.value)]
    written = [said.text[one.start : one.end].strip(" .,;") for one in values]
    # "380 / 10000" is a number, too, but the result is what it comes to.
    number = next((text for text in reversed(written) if "/" not in text), written[-1] if written else "")
    numbers = working(reading.step) if slip is None and is_numeric(reading.step) else ""
    numbers = split_working(slip)[1] if slip else numbers
    shown = bool(numbers) and says(said.text, numbers) and any(sign in numbers for sign in "+-×/")
    belief = slip.working.rstrip(".") if slip and not is_numeric(reading.step) else ""
    return {"said": number, "working": numbers if shown else "", "belief": belief}


def stay(reading: ParsedPrompt, evaluation: str, action: int, thought: str, parts: Sequence[Part]) -> Move:
    """Stays at the step: puts its question in other words, or hands it back after help."""
    step = reading.step
    nudge_options = nudges(result_name(step, reading.problem), failed=evaluation == "a" or reading.wrong_before > 0)
    if thought == "opening":
        asked = [tutor_book(reading).optional("tutor", "begin"), question(step, reading)]
    elif evaluation in "eg":
        asked = [question(step, reading)]
    elif thought == "unclear":
        # Nothing has been said yet that could help.
        asked = [Part(options=["", *question(step, reading).options], asks=True)]
    elif thought in ("wrong", "uncalculated", "partial"):
        # These ask for something themselves; whoever reads them knows what the question is.
        asked = [Part(options=["", *nudge_options], asks=True)]
    else:
        asked = [Part(options=nudge_options)]
    return Move(evaluation, action, thought, step.number, "q", [*parts, *asked])


def question(step: Step, reading: ParsedPrompt) -> Part:
    """Puts the question of a step in other words; word for word where nobody knows others, else seldom."""
    return Part(options=questions_for(step, reading.problem))


def advance(reading: ParsedPrompt, evaluation: str, action: int, thought: str, parts: Sequence[Part]) -> Move:
    """Completes the step: asks the next question, or says goodbye after the last."""
    if reading.last_step:
        onward = [farewell(reading, told=thought in _TOLD)]
    else:
        onward = [
            tutor_book(reading).optional("tutor", "next"),
            question(reading.problem.steps[reading.step.number], reading),
        ]
    state = "t" if reading.last_step else "r"
    return Move(evaluation, action, thought, reading.step.number, state, [*parts, *onward])


def solve(reading: ParsedPrompt, evaluation: str, action: int, thought: str, lead: str) -> Move:
    return advance(
        reading, evaluation, action, thought, [tutor_book(reading).optional("tutor", lead), _solution(reading)]
    )


def _solution(reading: ParsedPrompt) -> Part:
    """Works the step out, with the calculated number."""
    step = reading.step
    if not is_numeric(step):
        explanation = step.explanation if answer_form(step) in ("formula", "algebra") else ""
        slots = {"answer": answer(step), "explanation": explanation, "more": rest_of_idea(reading)}
        return tutor_book(reading).part("tutor", "solution", answer_form(step), **slots)
    number = calculated_number(reading.output) if reading.has("output") else None
    value = format_quantity(step.result) if number is None else with_unit(format_rounded(number, 4), step.result.unit)
    return tutor_book(reading).part(
        "tutor",
        "solution",
        "number",
        formula=spoken_formula(step.formula),
        working=working(step),
        value=value,
        stated="" if step.expression else value,
        name=step.result.name,
        explanation=step_facts(reading)["explanation"],
    )
