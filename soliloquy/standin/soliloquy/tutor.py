"""Plays the tutor: whether its reply needs a calculation, and the reply with its assessment of the message."""

import json
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scene import Scene
from soliloquy.recipes.soliloquy.codes import GIVING_ACTIONS
from soliloquy.standin.phrasebook import Part, rephrase
from soliloquy.standin.programs import comparison, description
from soliloquy.standin.slips import kind_of_mistake, same, split_working
from soliloquy.standin.soliloquy.reading import Gist, Message, read
from soliloquy.standin.soliloquy.steps import (
    answer,
    answer_form,
    book,
    gives_away,
    idea_of,
    is_numeric,
    list_names,
    list_values,
    sentences,
    spoken_formula,
    step_of,
    working,
    written,
)
from soliloquy.standin.stated import claims_in
from soliloquy.texts.phrases import says
from soliloquy.truth.algebra import algebra, stated_algebra
from soliloquy.truth.number_format import format_value
from soliloquy.truth.units import measured
from soliloquy.v1.conversation_pb2 import STEP_KIND_ALGEBRA, Slip, Step, StepKind

# After this many wrong answers the tutor solves the step at the next one.
_PATIENCE = 2
# The phrases that react to what is no answer, and the codes of the evaluation and of the action.
_REACTIONS = {
    Gist.HINT: ("hint", "f", 8, "hinting"),
    Gist.CONCEPT: ("concept", "f", 11, "good_question"),
    Gist.OFF_TOPIC: ("off_topic", "e", 7, "refocus"),
    Gist.UNCLEAR: ("unclear", "d", 6, "clarify"),
}


class Move(NamedTuple):
    """The tutor's reaction to a message: the recipe's codes and the sentences that express them."""

    evaluation: str
    action: int
    # The key of the tutor's thought in phrases/hidden.toml.
    thought: str
    step: Step
    state: str
    parts: Sequence[Part]


def decide(scene: Scene, rng: Random) -> str:
    said = read(scene)
    needed = ""
    if said.step.kind == STEP_KIND_ALGEBRA and (stated := stated_algebra(said.text, said.step.formula)):
        known = algebra(said.step.formula)
        needed = comparison(known, stated[-1]) if known else ""
    elif is_numeric(said.step) and (said.value is not None or _solves(scene, said)):
        needed = description(said.step, said.value)
    return json.dumps({"Use Python": "y", "Description": needed} if needed else {"Use Python": "n"}, ensure_ascii=False)


def reply(scene: Scene, rng: Random) -> str:
    move = _move(scene, read(scene), rng)
    text = rephrase(move.parts, rng, scene.messages(student=False))
    is_telling = is_numeric(move.step) and (move.action in GIVING_ACTIONS or move.evaluation == "b")
    fields = {
        "Thoughts of Tutorbot": book().one_of(rng, "hidden", "thoughts", move.thought, step=str(move.step.number)),
        "Evaluation of Student Response": move.evaluation,
        "Action Based on Evaluation": str(move.action),
        "Step Number": str(move.step.number),
        "Step State": move.state,
        "Tutorbot Response": text,
        "Results Told": claims_in(text, [move.step.result]) if is_telling else [],
    }
    return json.dumps(fields, ensure_ascii=False)


def _part(*path: str, **slots: str) -> Part:
    return book().part("tutor", *path, **slots)


def _solves(scene: Scene, said: Message) -> bool:
    return said.gist is Gist.SOLUTION or (said.gist is Gist.PARTIAL and _wrong_before(scene) >= _PATIENCE)


def _wrong_before(scene: Scene) -> int:
    return int(scene.slot("wrong_answers"))


def _move(scene: Scene, said: Message, rng: Random) -> Move:
    step, facts = said.step, _facts(scene, said.step)
    if scene.turn.HasField("calculation") and not scene.output:
        return _stay(scene, said, "d", 6, "uncalculated", [_part("show_working")])
    match said.gist:
        case Gist.OPENING:
            asks = book().cue("begin").search(said.text)
            parts = [_part("way_in"), _hint(scene, step)] if asks else [_part("welcome")]
            return _stay(scene, said, *(("f", 8) if asks else ("g", 12)), "opening", parts)
        case Gist.REASON if says(said.text, idea_of(step)):
            return _advance(scene, step, "b", 3, "right", [_part("reason", "confirmed")])
        case Gist.REASON:
            return _advance(scene, step, "c", 5, "reason", [_part("reason", "given", explanation=idea_of(step) + ".")])
        case Gist.NUMBER | Gist.STATEMENT:
            return _assess(scene, said, rng)
        case Gist.KNOWN:
            return _stay(scene, said, "b", 3, "right", [_part("right", "number", name=facts["name"])])
        case Gist.PARTIAL if _wrong_before(scene) < _PATIENCE:
            left = "number" if is_numeric(step) else "knowns"
            return _stay(scene, said, "c", 4, "partial", [_part("partial", left, **facts)])
        case Gist.PARTIAL:
            return _advance(scene, step, "c", 5, "partial_solved", [_part("partial_solved"), _solution(step)])
        case Gist.SOLUTION:
            return _advance(scene, step, "f", 9, "solution", [_part("gladly"), _solution(step)])
        case Gist.BACK if step.number > 1:
            before = scene.problem.steps[step.number - 2]
            return Move("f", 10, "back", before, "q", [_part("back"), Part(options=[before.ask])])
        case Gist.BACK:
            return _stay(scene, said, "f", 11, "concept", [_part("at_the_start")])
        case _:
            thought, evaluation, action, phrases = _REACTIONS[said.gist]
            more = {Gist.HINT: [_hint(scene, step)], Gist.CONCEPT: [_concept(scene, step)]}.get(said.gist, [])
            return _stay(scene, said, evaluation, action, thought, [_part(phrases, **facts), *more])


def _assess(scene: Scene, said: Message, rng: Random) -> Move:
    """Confirms an answer, objects to it, or does the step after too many wrong ones."""
    step = said.step
    if said.right is None:
        return _stay(scene, said, "d", 6, "uncalculated", [_part("show_working")])
    if not said.right and _wrong_before(scene) >= _PATIENCE:
        return _advance(scene, step, "a", 2, "wrong_solved", [_part("wrong_solved"), _solution(step)])
    if not said.right:
        return _object(scene, said)
    form = "number" if is_numeric(step) else answer_form(step)
    confirmed = _part("right", form, **_facts(scene, step), said=_written(said))
    told = [confirmed]
    if is_numeric(step) and idea_of(step):
        # The reason that a person gives cannot be judged.
        if not scene.record.person and rng.random() < book().tables["tutor"]["asks_why"]:
            return Move("b", 3, "right", step, "q", [_part("why", said=_written(said))])
        if rng.random() < book().tables["tutor"]["explains"]:
            told.append(book().optional("tutor", "explained", explanation=_facts(scene, step)["explanation"]))
    return _advance(scene, step, "b", 3, "right", told)


def _object(scene: Scene, said: Message) -> Move:
    """Speaks to the working that the student has shown, or asks for it: nobody is told a cause that was not shown."""
    step, slip, number = said.step, _slip_in(said), _written(said)
    numbers = split_working(slip)[1] if slip else ""
    shown = numbers if numbers and says(said.text, numbers) else ""
    asked = any(book().cue("asks_how").search(text) for text in scene.messages(student=False)[-1:])
    if is_numeric(step) and number and not shown and not asked:
        return Move("a", 1, "wrong", step, "q", [_part("wrong"), _part("asking_how", said=number)])
    facts = _facts(scene, step)
    told: Sequence[str] = []
    if not is_numeric(step) and slip:
        kind = "believed_formula" if step.formula and facts["explanation"] else "believed"
        told = book().wordings("tutor", "mistake", kind, **facts, belief=slip.working.rstrip("."))
    elif shown:
        kind = kind_of_mistake(slip, step)
        told = book().wordings("tutor", "mistake", kind, **facts, working=shown, said=number)
    spoken = Part(options=_safe(scene, step, told)) if told else _hint(scene, step)
    return _stay(scene, said, "a", 1, "wrong", [_part("wrong", name=facts["name"]), spoken])


def _slip_in(said: Message) -> Slip | None:
    """Returns the known mistake that a message shows."""
    is_shown = (says(said.text, slip.working) or _is_value(said, slip) for slip in said.step.slips)
    return next((slip for slip, shown in zip(said.step.slips, is_shown, strict=True) if shown), None)


def _is_value(said: Message, slip: Slip) -> bool:
    return said.value is not None and same(said.value, slip.value)


def _written(said: Message) -> str:
    return "" if said.value is None else format_value(said.value, said.step.result.unit)


def _stay(scene: Scene, said: Message, evaluation: str, action: int, thought: str, parts: Sequence[Part]) -> Move:
    """Stays at the step: puts its question, or hands it back after help."""
    step = step_of(scene)
    ahead = {"name": result_name(step, scene.problem)}
    if thought == "opening" or evaluation in "be":
        asked = Part(options=[step.ask])
    else:
        kind = "again" if evaluation == "a" or _wrong_before(scene) else "onward"
        asked = Part(options=list(book().wordings("questions", kind, **ahead)), asks=True)
    return Move(evaluation, action, thought, step, "q", [*parts, asked])


def _advance(scene: Scene, step: Step, evaluation: str, action: int, thought: str, parts: Sequence[Part]) -> Move:
    """Completes the step: asks the next question, or says goodbye after the last."""
    if step.number == len(scene.problem.steps):
        return Move(evaluation, action, thought, step, "t", [*parts, _part("farewell", name=step.result.name)])
    following = Part(options=[scene.problem.steps[step.number].ask])
    return Move(evaluation, action, thought, step, "r", [*parts, book().optional("tutor", "next"), following])


def _solution(step: Step) -> Part:
    """Works the step out."""
    if not is_numeric(step):
        explanation = step.explanation if step.formula else ""
        return _part("solution", answer_form(step), answer=answer(step), explanation=explanation)
    value, formula = written(step.result), spoken_formula(step.formula)
    if not step.expression:
        return _part("solution", "number", name=step.result.name, stated=value)
    return _part("solution", "number", name=step.result.name, formula=formula, working=working(step), value=value)


def _hint(scene: Scene, step: Step) -> Part:
    kind = StepKind.Name(step.kind).removeprefix("STEP_KIND_").lower()
    return Part(options=_safe(scene, step, book().wordings("tutor", "hints", kind, **_facts(scene, step))))


def _concept(scene: Scene, step: Step) -> Part:
    """Says what the step is for."""
    later = scene.problem.steps[step.number :]
    if not later:
        return _part("concept", "last_step")
    told = book().wordings("tutor", "concept", "step", name=step.result.name, later=later[0].ask)
    return Part(options=_safe(scene, step, told))


def _safe(scene: Scene, step: Step, options: Sequence[str]) -> Sequence[str]:
    """Returns the wordings that tell neither a result nor a statement that is still to be found."""
    stated = "" if is_numeric(step) else step.formula
    return [text for text in options if not gives_away(text, scene.problem, step) and not says(text, stated)]


def _facts(scene: Scene, step: Step) -> dict[str, str]:
    """Returns what the tutor may say about a step without solving it; the explanation only once."""
    numeric, told = is_numeric(step), " ".join(scene.messages(student=False))
    is_idea = not numeric and answer_form(step) == "idea"
    explanation = "" if is_idea or step.explanation in told else step.explanation
    return {
        "name": step.result.name,
        "unit": measured(step.result.unit),
        "formula": "".join(_safe(scene, step, [spoken_formula(step.formula) if numeric else ""])),
        "inputs": list_values(step.inputs) if numeric else "",
        "names": list_names(step.inputs) if len(step.inputs) > 1 else "",
        "explanation": "".join(_safe(scene, step, [explanation])),
        "more": " ".join(sentences(step.explanation)[1:]) if is_idea else "",
    }
