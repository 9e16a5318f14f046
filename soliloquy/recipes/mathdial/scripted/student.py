"""The scripted student: defends its solution, doubts it, or works the problem out again, as the prompt says."""

from random import Random

from soliloquy.recipes.mathdial.scripted.phrases import book
from soliloquy.recipes.mathdial.scripted.worked_solutions import pupil_solution, work_through
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase
from soliloquy.runtime.model import ModelRefused
from soliloquy.truth.number_format import format_value, with_unit

_KINDS = ("held", "doubted", "given_up")


def reply(reading: ParsedPrompt, rng: Random) -> str:
    told = reading.attributes("belief")
    kind = "first" if told.get("first") == "y" else told.get("kind", "")
    if kind not in ("first", *_KINDS):
        raise ModelRefused(f"the <belief> of {reading.prompt} has kind {kind!r}; it must be one of {', '.join(_KINDS)}")
    found, problem = pupil_solution(reading), reading.problem
    again = work_through(problem)
    wanted = problem.answer
    said = book().part(
        "student",
        kind,
        name=found.step.result.name,
        equation=found.equation,
        equations=" and then ".join(found.equations[-2:]) if kind == "first" else found.equation,
        answer=with_unit(found.answer, wanted.unit),
        working=" and ".join(line.equation for line in again if line.step.number >= found.step.number),
        right=format_value(wanted.value, wanted.unit),
    )
    parts: list[Part] = [said] if kind == "first" else [book().optional("student", "lead"), said]
    return capitalize(rephrase(parts, rng, reading.word_limit, reading.messages(student=True)))
