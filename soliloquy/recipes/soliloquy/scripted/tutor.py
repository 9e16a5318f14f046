"""Plays the tutor: whether its reply needs a calculation, and the reply with its assessment of the message."""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from soliloquy.recipes.codes import STRATEGIES
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase, verbatim
from soliloquy.recipes.scripted.programs import comparison, description
from soliloquy.recipes.soliloquy.scripted.hints import (
    concept_wordings,
    hints,
    rest_of_idea,
    step_facts,
    without_giveaways,
)
from soliloquy.recipes.soliloquy.scripted.phrases import book
from soliloquy.recipes.soliloquy.scripted.replies import Gist, ReplyReading, read_reply
from soliloquy.recipes.soliloquy.scripted.steps import answer, answer_form, is_algebra, is_numeric, sentences, working
from soliloquy.truth.algebra_answers import algebra, stated_algebra
from soliloquy.truth.exactness import is_right
from soliloquy.truth.number_format import format_quantity, format_rounded, with_unit

# After this many wrong answers the tutor solves the step at the next one.
PATIENCE = 2


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
    return written(_move(reading, read_reply(reading)), reading, rng)


def written(move: Move, reading: ParsedPrompt, rng: Random) -> str:
    """Returns the move as the answer that the recipe asks for."""
    fields = {
        "Thoughts of Tutorbot": book().one_of(rng, "hidden", "thoughts", move.thought, step=str(move.step)),
        "Evaluation of Student Response": move.evaluation,
        "Action Based on Evaluation": str(move.action),
        "Step Number": str(move.step),
        "Step State": move.state,
        "Tutorbot Response": capitalize(rephrase(move.parts, rng, reading.word_limit, reading.messages(student=False))),
    }
    return json.dumps(fields, ensure_ascii=False)


def _move(reading: ParsedPrompt, said: ReplyReading) -> Move:
    if reading.has("calculation") and reading.section("calculation") == "failed":
        return stay(reading, "d", 6, "uncalculated", [book().part("tutor", "show_working")])
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
            return stay(reading, "c", 4, "partial", [book().part("tutor", "partial", left, **step_facts(reading))])
        case Gist.HINT:
            hinting = book().optional("tutor", "hinting", name=reading.step.result.name)
            return stay(reading, "f", 8, "hint", [hinting, Part(options=hints(reading))])
        case Gist.SOLUTION:
            return solve(reading, "f", 9, "solution", "gladly")
        case Gist.BACK if reading.step.number > 1:
            before = reading.problem.steps[reading.step.number - 2]
            return Move("f", 10, "back", before.number, "q", [book().part("tutor", "back"), verbatim(before.ask)])
        case Gist.BACK:
            return stay(reading, "f", 11, "concept", [book().part("tutor", "at_the_start")])
        case Gist.CONCEPT:
            concept = Part(options=concept_wordings(reading, said.text))
            return stay(reading, "f", 11, "concept", [book().optional("tutor", "good_question"), concept])
        case Gist.OFF_TOPIC:
            return stay(reading, "e", 7, "off_topic", [book().part("tutor", "refocus", **step_facts(reading))])
        case _:
            return stay(reading, "d", 6, "unclear", [book().part("tutor", "clarify", **step_facts(reading))])


def _open(reading: ParsedPrompt, text: str) -> Move:
    """Gives a hint to a student who asks how to begin, and welcomes any other."""
    for sentence in sentences(reading.problem.question):
        text = text.replace(sentence, "")
    if not book().cue("begin").search(text):
        return stay(reading, "g", 12, "opening", [book().part("tutor", "welcome")])
    hint = Part(options=hints(reading))
    return stay(reading, "f", 8, "opening", [book().part("tutor", "way_in"), hint])


def assess(reading: ParsedPrompt, said: ReplyReading, right: bool | None) -> Move:
    if right is None:
        return stay(reading, "d", 6, "uncalculated", [book().part("tutor", "show_working")])
    facts = step_facts(reading)
    if right:
        form = "number" if is_numeric(reading.step) else answer_form(reading.step)
        return advance(
            reading, "b", 3, "right", [book().part("tutor", "right", form, **facts, more=rest_of_idea(reading))]
        )
    if reading.wrong_before >= PATIENCE:
        return solve(reading, "a", 2, "wrong_solved", "wrong_solved")
    slip = said.slip(reading.step)
    kind = STRATEGIES.get(slip.strategy, "unspecified") if slip else "unspecified"
    if slip and slip.because:
        kind = "misconception"
    mistake = Part(options=without_giveaways(book().wordings("tutor", "mistake", kind, **facts), reading))
    # A hint follows only if the kind of mistake is unknown; otherwise its wording already says what to look at.
    hint = [] if kind in (*STRATEGIES.values(), "misconception") else [Part(options=hints(reading), optional=True)]
    return stay(reading, "a", 1, "wrong", [book().part("tutor", "wrong", **facts), mistake, *hint])


def stay(reading: ParsedPrompt, evaluation: str, action: int, thought: str, parts: Sequence[Part]) -> Move:
    """Stays at the step and repeats its question."""
    lead = "begin" if thought == "opening" else "again"
    asked = [book().optional("tutor", lead), verbatim(reading.step.ask)]
    return Move(evaluation, action, thought, reading.step.number, "q", [*parts, *asked])


def advance(reading: ParsedPrompt, evaluation: str, action: int, thought: str, parts: Sequence[Part]) -> Move:
    """Completes the step: asks the next question, or says goodbye after the last."""
    if reading.last_step:
        onward = [book().part("tutor", "farewell", name=reading.step.result.name)]
    else:
        onward = [book().optional("tutor", "next"), verbatim(reading.problem.steps[reading.step.number].ask)]
    state = "t" if reading.last_step else "r"
    return Move(evaluation, action, thought, reading.step.number, state, [*parts, *onward])


def solve(reading: ParsedPrompt, evaluation: str, action: int, thought: str, lead: str) -> Move:
    return advance(reading, evaluation, action, thought, [book().optional("tutor", lead), _solution(reading)])


def _solution(reading: ParsedPrompt) -> Part:
    """Works the step out, with the calculated number."""
    step = reading.step
    if not is_numeric(step):
        explanation = step.explanation if answer_form(step) in ("formula", "algebra") else ""
        slots = {"answer": answer(step), "explanation": explanation, "more": rest_of_idea(reading)}
        return book().part("tutor", "solution", answer_form(step), **slots)
    number = _calculated_number(reading.output) if reading.has("output") else None
    value = format_quantity(step.result) if number is None else with_unit(format_rounded(number, 4), step.result.unit)
    return book().part(
        "tutor",
        "solution",
        "number",
        formula=step.formula,
        working=working(step),
        value=value,
        name=step.result.name,
        explanation=step_facts(reading)["explanation"],
    )


def verdict(reading: ParsedPrompt, said: ReplyReading) -> bool | None:
    """Whether the output confirms the student's number; None if nothing was calculated."""
    if not reading.has("output"):
        return None
    told_so = [value == "True" for value in reading.output.values() if value in ("True", "False")]
    if told_so:
        return told_so[0]
    number = _calculated_number(reading.output)
    if number is None or said.value is None:
        return None
    return is_right(said.value, number, reading.step.result.unit, reading.problem.tolerance or 0.01)


def _calculated_number(output: Mapping[str, str]) -> float | None:
    """Returns the first number among the tutor's own variables."""
    for name, value in output.items():
        if not name.startswith("student"):
            try:
                return float(value)
            except ValueError:
                continue
    return None
