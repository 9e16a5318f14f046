"""The scripted student: answers what it is asked by what it believes, doubts it, or works the problem out again."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from soliloquy.recipes.mathdial.scripted.phrases import book
from soliloquy.recipes.mathdial.scripted.pupil import PupilSolution, claimed_answer, pupil_solution
from soliloquy.recipes.mathdial.worked_solutions import mistakes, work_through
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scripted.agreement import agreeing
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.recipes.scripted.phrasebook import Part, capitalize, rephrase
from soliloquy.recipes.scripted.slips import belief, is_of_the_pen, same
from soliloquy.recipes.scripted.stated import answer_symbol, message
from soliloquy.runtime.model import ModelRefused
from soliloquy.truth.number_format import format_quantity, format_value, with_unit
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Slip

_KINDS = ("held", "doubted", "given_up")


def reply(reading: ParsedPrompt, rng: Random) -> str:
    told = reading.attributes("belief")
    kind = "first" if told.get("first") == "y" else told.get("kind", "")
    if kind not in ("first", *_KINDS):
        raise ModelRefused(f"the <belief> of {reading.prompt} has kind {kind!r}; it must be one of {', '.join(_KINDS)}")
    found, problem = pupil_solution(reading), reading.problem
    again = work_through(problem)
    wanted = problem.answer
    asked = reading.messages(student=False)[-1] if kind == "held" else ""
    slip = _slip(problem, found)
    because = belief(slip)
    slots = {
        "name": result_name(found.step, problem),
        "equation": found.equation,
        "equations": _one_by_one(found.equations),
        "answer": with_unit(found.answer, wanted.unit),
        "because": because,
        "reason": because[:1].lower() + because[1:].rstrip(".")
        if not because.startswith("I ")
        else because.rstrip("."),
        "lapse": slip.because.rstrip(".") if is_of_the_pen(slip) else "",
        "given": _given(problem),
        "came": next(
            (format_value(line.value, line.step.result.unit) for line in again if line.step.number < found.step.number),
            "",
        ),
        "before": next((line.name for line in again if line.step.number < found.step.number), ""),
        "working": " and ".join(line.equation for line in again if line.step.number >= found.step.number),
        "right": format_value(wanted.value, wanted.unit),
    }
    slots |= {"lines": _told(zip((line.name for line in again), found.equations, strict=False), rng)}
    slots |= {"relines": _told(((line.name, line.equation) for line in again), rng)}
    # Questions about an earlier step are answered with its right result.
    named = next(
        (line for line in again if line.step.number < found.step.number and _names(asked, line.step.result.name)), None
    )
    if named:
        slots |= {"named": named.name, "earlier": named.equation}
    if _tells(asked, found.step.result):
        slots |= {"told": format_value(found.step.result.value, found.step.result.unit)}
    said = book().wordings("student", "asked", _asked(asked, slots), **slots) if asked else ()
    parts = [Part(options=said or book().wordings("student", kind, **slots)), *_further(kind, slots, rng)]
    text = capitalize(rephrase(parts, rng, reading.word_limit, reading.messages(student=True)))
    meant = wanted.value if kind == "given_up" else float(found.answer)
    value = claimed_answer(text, problem)
    is_given = "told" in slots or (value is not None and same(value, meant))
    return message(text, [Quantity(symbol=answer_symbol(problem), value=meant)] if is_given else [])


def _further(kind: str, slots: Mapping[str, str], rng: Random) -> list[Part]:
    """Now and then tells more than was asked, as people do: how it read the problem, or what it makes of it."""
    told = book().tables["student"]["tells_more"].get(kind, 0.0)
    return [book().optional("student", "further", kind, **slots) for _ in range(2) if rng.random() < told]


def _told(lines: Iterable[tuple[str, str]], rng: Random) -> str:
    """Tells a solution line by line, all in one manner."""
    line = rng.choice(book().phrases("student", "line")).text
    return " ".join(agreeing(line.format(name=name, equation=equation), name) for name, equation in lines)


def _one_by_one(equations: Sequence[str]) -> str:
    return " and then ".join(filter(None, [", then ".join(equations[:-1]), equations[-1]]))


def _asked(text: str, slots: Mapping[str, str]) -> str:
    """Returns what a tutor's message asks for, or that it tells a value."""
    if "told" in slots:
        return "told"
    kinds = ("why", "recall", "strategy", "other_numbers", "world", "check", "general")
    found = next((kind for kind in kinds if book().cue(kind).search(text)), "")
    return "earlier" if "named" in slots and found in ("", "check") else found or "step"


def _names(text: str, name: str) -> bool:
    return bool(name) and name.casefold() in text.casefold()


def _tells(text: str, result: Quantity) -> bool:
    return any(same(number.value, result.value) for number in numbers_in_digits(text))


def _slip(problem: Problem, found: PupilSolution) -> Slip:
    numbers = found.equation.rpartition(" = ")[0]
    told = [one for one in mistakes(problem) if one.numbers == numbers]
    return next((one.slip for one in told if one.step.number == found.step.number), Slip())


def _given(problem: Problem) -> str:
    derived = {step.result.symbol for step in problem.steps}
    known = {one.symbol: one for step in problem.steps for one in step.inputs if one.symbol not in derived and one.name}
    return " and ".join(f"{format_quantity(one)} for the {one.name}" for one in list(known.values())[:3])
