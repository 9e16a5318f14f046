"""Plays the student: answers what it is asked by what it believes, doubts it, or works the problem out again."""

from collections.abc import Iterable
from random import Random

from soliloquy.recipes.mathdial.worked_solutions import mistakes, work_through
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scene import Scene
from soliloquy.standin.mathdial.pupil import PupilSolution, book, pupil_solution
from soliloquy.standin.phrasebook import Part, rephrase
from soliloquy.standin.stated import answer_symbol, message
from soliloquy.truth.number_format import format_quantity, format_value, with_unit
from soliloquy.v1.conversation_pb2 import Problem, Quantity

# A tutor's message may ask a student for these; the first whose cue it has counts.
_ASKED = ("why", "recall", "strategy", "other_numbers", "world", "check", "general")


def reply(scene: Scene, rng: Random) -> str:
    kind = "first" if scene.slot("first") == "y" else scene.slot("belief")
    found, problem = pupil_solution(scene), scene.problem
    again, because = work_through(problem), _because(problem, found)
    earlier = next((line for line in again if line.step.number < found.step.number), None)
    slots = {
        "name": result_name(found.step, problem),
        "equation": found.equation,
        "equations": ", then ".join(found.equations),
        "answer": with_unit(found.answer, problem.answer.unit),
        "because": because,
        "reason": because[:1].lower() + because[1:].rstrip(".") if not because.startswith("I ") else "",
        "given": _given(problem),
        "before": earlier.name if earlier else "",
        "came": format_value(earlier.value, earlier.step.result.unit) if earlier else "",
        "working": " and ".join(line.equation for line in again if line.step.number >= found.step.number),
        "right": format_value(problem.answer.value, problem.answer.unit),
        "lines": _told(zip((line.name for line in again), found.equations, strict=False)),
        "relines": _told((line.name, line.equation) for line in again),
    }
    asked = scene.messages(student=False)[-1] if kind == "held" else ""
    paths: list[tuple[str, ...]] = [("asked", one) for one in _ASKED if asked and book().cue(one).search(asked)]
    paths += [("asked", "step") if asked else (kind,)]
    said = (book().wordings("student", *path, **slots) for path in paths)
    parts = [Part(options=next(filter(None, said)))]
    if rng.random() < book().tables["student"]["tells_more"][kind]:
        parts.append(book().optional("student", "further", kind, **slots))
    text = rephrase(parts, rng, scene.messages(student=True))
    meant = problem.answer.value if kind == "given_up" else float(found.answer)
    return message(text, [Quantity(symbol=answer_symbol(problem), value=meant)])


def _told(lines: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"The {name} is {equation}." for name, equation in lines)


def _because(problem: Problem, found: PupilSolution) -> str:
    """Returns the reason for the mistake of a solution; empty if it is none that the problem knows."""
    numbers = found.equation.rpartition(" = ")[0].replace(" ", "")
    alike = (one for one in mistakes(problem) if one.numbers.replace(" ", "") == numbers)
    return next((one.slip.because for one in alike if one.step.number == found.step.number), "")


def _given(problem: Problem) -> str:
    derived = {step.result.symbol for step in problem.steps}
    known = {one.symbol: one for step in problem.steps for one in step.inputs if one.symbol not in derived and one.name}
    return " and ".join(f"{format_quantity(one)} for the {one.name}" for one in list(known.values())[:3])
