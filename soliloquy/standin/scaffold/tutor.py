"""Plays the tutor: describes calculations, assesses messages and replies."""

import json
from collections.abc import Sequence
from random import Random

from soliloquy.recipes.answers import StatedClaim
from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scaffold.answers import tutored_text
from soliloquy.recipes.scaffold.expected_answers import final_number, gives_expected, revealed
from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.memory import plan_of
from soliloquy.recipes.scaffold.reply_rules import count_questions
from soliloquy.recipes.scene import Scene
from soliloquy.runtime.model import ModelRefused
from soliloquy.standin.phrasebook import Part, rephrase
from soliloquy.standin.programs import description
from soliloquy.standin.scaffold.steps import book, step_of
from soliloquy.standin.slips import kind_of_mistake, split_working
from soliloquy.standin.stated import claims_in, results_of
from soliloquy.texts.phrases import says
from soliloquy.truth.number_format import format_exact, format_number, format_quantity, written_value
from soliloquy.v1.conversation_pb2 import Quantity, Slip, Step

# The states that a message without an answer may show; the first whose cue it has counts.
_SHOWN = ("irrelevant", "confusion", "question", "comprehension")


def describe(scene: Scene, rng: Random) -> str:
    given = final_number(scene.turn.student.text)
    if given is None:
        raise ModelRefused(f"the message holds no number: {scene.turn.student.text[:80]!r}")
    step = step_of(scene)
    if not step.expression:
        # A step that calculates nothing states its result, or the problem's answer.
        value = (step.result if step.HasField("result") else scene.problem.answer).value
        result = Quantity(symbol="result", name="expected result", value=value)
        step = Step(expression=format_exact(value), result=result)
    return json.dumps({"Description": description(step, given.value)}, ensure_ascii=False)


def reply(scene: Scene, rng: Random) -> str:
    plan, at = plan_of(scene.problem).questions, int(scene.slot("number")) - 1
    state = _state(scene, plan[at])
    solves = state in _solving(scene)
    shown = "end" if solves and at == len(plan) - 1 else state
    name, answer = step_of(scene).result.name, plan[at].answer.rstrip(".")
    slots = {"name": name, "answer": answer, "final": answer, "now": str(at + 1)}
    analysis = book().one_of(rng, "tutor", "analysis", shown, **slots)
    parts = _parts(scene, plan, at, shown, slots, rng)
    text = rephrase(parts, rng, scene.messages(student=False))
    is_telling = solves or shown == "comprehension"
    told = claims_in(text, results_of(scene.problem)) if is_telling else []
    return tutored_text(analysis, shown, text, [StatedClaim.model_validate(one) for one in told])


def _solving(scene: Scene) -> Sequence[str]:
    """Returns the states that solve a sub-question."""
    return ("correct",) if scene.slot("understanding") == "tested" else ("correct", "comprehension")


def _state(scene: Scene, current: SubQuestion) -> str:
    """Decides by the program's verdict, the expected answer, or cue words."""
    if not scene.messages(student=False):
        return "start"
    if scene.output:
        return "correct" if "True" in scene.output.values() else "incorrect"
    message = scene.turn.student.text
    if gives_expected(message, current):
        return "correct"
    plan = plan_of(scene.problem).questions
    about = f"{scene.problem.question} {' '.join(f'{one.question} {one.answer}' for one in plan)}"
    return next((cue for cue in _SHOWN if _has(cue, message, about.lower())), "incorrect")


def _has(cue: str, message: str, about: str) -> bool:
    """Whether a message has a cue; words that occur in the problem itself are not irrelevant."""
    return any(cue != "irrelevant" or one[0].lower() not in about for one in book().cue(cue).finditer(message))


def _parts(
    scene: Scene, plan: Sequence[SubQuestion], at: int, shown: str, slots: dict[str, str], rng: Random
) -> list[Part]:
    solves = shown in _solving(scene)
    hidden = plan[at + solves :]
    if shown == "end":
        way = ", then ".join(one.answer.rstrip(".") for one in plan[:-1])
        return [_says("end", way=way, final=slots["answer"]), _says("farewell")]
    step, question = step_of(scene), hidden[0].question
    known = "\n".join(
        [scene.problem.question, question, *(f"{one.question} {one.answer}" for one in plan[: at + solves])]
    )
    slip, said = _slip_in(scene, step), _number_in(scene)
    slots = slots | {
        "said": said,
        "working": split_working(slip)[1] if slip else "",
        "inputs": _inputs(step, known),
        "explanation": _explanation(step, hidden, known),
    }
    if shown == "incorrect":
        lead = _says("doubt")
        is_asked = any(book().cue("asks_how").search(text) for text in scene.messages(student=False)[-4:])
        if said and not slip and not is_asked and rng.random() < book().tables["tutor"]["asks_how"]:
            return [lead, _says("asking_how", said=said, name=slots["name"])]
        path = ("mistake", kind_of_mistake(slip, step)) if slip else ("says", "incorrect")
        return [lead, book().part("tutor", *path, **slots), _question(scene, question, again=True)]
    if shown == "question":
        idea = "idea" if slots["explanation"] else "other"
        return [_says("question", idea, **slots), _question(scene, question, again=True)]
    kind = "understood" if shown == "comprehension" and not solves else shown
    parts = [_says(kind, **slots), _question(scene, question, again=shown not in ("start", *_solving(scene)))]
    if shown == "correct" and said and step.explanation and rng.random() < book().tables["tutor"]["asks_why"]:
        parts.insert(1, _says("why"))
    return parts


def _says(*path: str, **slots: str) -> Part:
    return book().part("tutor", "says", *path, **slots)


def _slip_in(scene: Scene, step: Step) -> Slip | None:
    """Returns the mistake whose calculation a message shows."""
    message = scene.turn.student.text
    ways = ((slip, split_working(slip)[1]) for slip in step.slips)
    return next((slip for slip, way in ways if any(sign in way for sign in "+-×*/") and says(message, way)), None)


def _number_in(scene: Scene) -> str:
    """Returns the number that a message comes to, as it is written there."""
    message = scene.turn.student.text
    given = final_number(message)
    number = message[given.start : given.end].strip(" .,;!") if given else ""
    return number if number and number in message else ""


def _explanation(step: Step, hidden: Sequence[SubQuestion], known: str) -> str:
    """Returns the explanation of a step; empty if it asks something or tells what is still to be found."""
    tells = "?" in step.explanation or any(revealed(step.explanation, hidden, known))
    return "" if tells else step.explanation


def _inputs(step: Step, text: str) -> str:
    """Lists what goes into a step, if all of it is known by now."""
    if not all(known.name and _is_said(text, known) for known in step.inputs):
        return ""
    return " and ".join(f"{format_quantity(known)} for the {known.name}" for known in step.inputs)


def _is_said(text: str, known: Quantity) -> bool:
    return says(text, format_number(known.value)) or says(text, written_value(known.value, known.unit))


def _question(scene: Scene, asked: str, *, again: bool) -> Part:
    """Puts a sub-question, or hands it back."""
    steps = scene.problem.steps
    step = next((one for one in steps if one.ask == asked), None) or next(
        (one for one in reversed(steps) if one.result.name and one.result.name in asked), None
    )
    name = result_name(step, scene.problem) if step else ""
    options = [asked]
    if again and name:
        # A question that names nothing may be about anything.
        options += [text for text in book().wordings("questions", "again", name=name) if name in text]
    return Part(options=[text for text in options if count_questions(text) == 1] or [asked])
