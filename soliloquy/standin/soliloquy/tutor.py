"""Plays the tutor: whether its reply needs a calculation, and the reply with its assessment of the message."""

import json
from collections.abc import Sequence
from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.standin.claims import claims_in
from soliloquy.standin.phrasebook import BOOK, spoken
from soliloquy.standin.programs import comparison, description
from soliloquy.standin.soliloquy.reading import Message, read
from soliloquy.standin.steps import (
    answer,
    gives_away,
    idea_of,
    is_numeric,
    listed,
    spoken_formula,
    step_of,
    working,
    written,
)
from soliloquy.texts.phrases import says
from soliloquy.truth.algebra import algebra, stated_algebra
from soliloquy.truth.number_format import format_value
from soliloquy.v1.conversation_pb2 import STEP_KIND_ALGEBRA, STEP_KIND_KNOWNS, Step

# After this many wrong answers the tutor solves the step at the next one.
_PATIENCE = 2
# The step is done, and the next one follows.
_ADVANCING = ("right", "reasoned", "reason", "wrong_solved", "solution")
# The question of the step is put once more.
_ASKING = ("welcome", "way_in", "known", "back", "off_topic")


def decide(scene: Scene, rng: Random) -> str:
    said, needed = read(scene), ""
    if said.step.kind == STEP_KIND_ALGEBRA and (stated := stated_algebra(said.text, said.step.formula)):
        known = algebra(said.step.formula)
        needed = comparison(known, stated[-1]) if known else ""
    elif is_numeric(said.step) and (said.value is not None or said.gist == "solution"):
        needed = description(said.step, said.value)
    return json.dumps({"Use Python": "y", "Description": needed} if needed else {"Use Python": "n"}, ensure_ascii=False)


def reply(scene: Scene, rng: Random) -> str:
    said, steps = read(scene), scene.problem.steps
    move = _move(scene, said, rng)
    evaluation, action = BOOK.tables["soliloquy"]["codes"][move]
    is_done = move in _ADVANCING
    step = said.step if is_done else step_of(scene)
    if move == "back":
        step = steps[step.number - 2]
    state = "q" if not is_done else "t" if step.number == len(steps) else "r"
    value = "" if said.value is None else format_value(said.value, step.result.unit)
    slots = {"said": value, "idea": idea_of(step), "explanation": _explanation(scene, step)}
    parts = [_said(move, **slots), _body(scene, said, move)]
    if is_done:
        parts.append(_said("farewell") if state == "t" else [steps[step.number].ask])
    elif move in _ASKING:
        parts.append([step.ask])
    elif move != "why":
        parts.append(_said("again"))
    text = spoken(parts, rng, scene.messages(student=False))
    is_telling = is_numeric(step) and (action in GIVING_ACTIONS or evaluation == "b")
    thought = "right" if move in ("known", "reasoned") else move
    fields = {
        "Thoughts of Tutorbot": BOOK.one_of(rng, "soliloquy", "thoughts", thought, step=str(step.number)),
        "Evaluation of Student Response": evaluation,
        "Action Based on Evaluation": str(action),
        "Step Number": str(step.number),
        "Step State": state,
        "Tutorbot Response": text,
        "Results Told": claims_in(text, [step.result]) if is_telling else [],
    }
    return json.dumps(fields, ensure_ascii=False)


def _said(situation: str, **slots: str) -> Sequence[str]:
    return BOOK.wordings("soliloquy", "tutor", situation, **slots)


def _move(scene: Scene, said: Message, rng: Random) -> str:
    step = said.step
    if scene.turn.HasField("calculation") and not scene.output:
        return "uncalculated"
    match said.gist:
        case "opening":
            return "way_in" if BOOK.cue("soliloquy", "begin").search(said.text) else "welcome"
        case "reason":
            return "reasoned" if says(said.text, idea_of(step)) else "reason"
        case "number" | "statement" if said.right is None:
            return "uncalculated"
        case "number" | "statement" if not said.right:
            return "wrong_solved" if int(scene.slot("wrong_answers")) >= _PATIENCE else "wrong"
        case "number" | "statement":
            return "why" if scene.slot("asks_why") and is_numeric(step) and idea_of(step) else "right"
        case "back" if step.number == 1:
            return "concept"
        case _:
            return said.gist


def _body(scene: Scene, said: Message, move: str) -> Sequence[str]:
    """Returns what the reply tells: a hint, what the step is for, or its solution."""
    step = said.step
    beliefs = [] if is_numeric(step) else [slip.working.rstrip(".") for slip in step.slips]
    match move:
        case "wrong" if belief := next((one for one in beliefs if says(said.text, one)), ""):
            return _safe(scene, step, _said("belief", belief=belief))
        case "way_in" | "hint" | "wrong":
            return _hints(scene, step)
        case "concept":
            later = [one.ask for one in scene.problem.steps[step.number : step.number + 1]]
            return _safe(scene, step, _said("leading_on", later="".join(later)) or _said("last"))
        case "solution" | "wrong_solved":
            return _solution(step)
        case _:
            return []


def _solution(step: Step) -> Sequence[str]:
    if not is_numeric(step):
        return _said("solved", answer=answer(step), explanation=step.explanation if step.formula else "")
    return _said("solved", formula=spoken_formula(step), working=working(step), value=written(step.result))


def _hints(scene: Scene, step: Step) -> Sequence[str]:
    numeric = is_numeric(step)
    slots = {
        "formula": spoken_formula(step) if numeric else "",
        "inputs": listed(step.inputs) if numeric else "",
        "names": " and ".join(f"the {one.name}" for one in step.inputs if one.name),
        "explanation": _explanation(scene, step),
    }
    return _safe(scene, step, _said("hints", **slots))


def _explanation(scene: Scene, step: Step) -> str:
    """Returns the explanation of a step unless it is the answer, tells it, or was told before."""
    is_idea = not is_numeric(step) and not step.formula and step.kind != STEP_KIND_KNOWNS
    if is_idea or step.explanation in " ".join(scene.messages(student=False)):
        return ""
    return "".join(_safe(scene, step, [step.explanation]))


def _safe(scene: Scene, step: Step, options: Sequence[str]) -> Sequence[str]:
    """Returns the wordings that tell neither a result nor a statement that is still to be found."""
    stated = "" if is_numeric(step) else step.formula
    return [text for text in options if not gives_away(text, scene.problem, step) and not says(text, stated)]
