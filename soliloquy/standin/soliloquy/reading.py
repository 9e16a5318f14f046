"""Takes a student's message as the record has it: what it claims, else what its words ask for."""

from dataclasses import dataclass

from soliloquy.recipes.scene import Scene
from soliloquy.recipes.templates import one_line
from soliloquy.standin.claims import same
from soliloquy.standin.phrasebook import BOOK
from soliloquy.standin.steps import answer, is_numeric, step_of
from soliloquy.texts.phrases import says
from soliloquy.texts.utterances import content_words
from soliloquy.truth.algebra import gives_algebra
from soliloquy.truth.judge import in_unit, judge_text
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.quantities import WrittenQuantity, values_in
from soliloquy.truth.stated_answer import ALONE, answer_in, answer_quantity, statements
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import STEP_KIND_ALGEBRA, STEP_KIND_KNOWNS, Step

_REQUESTS = ("solution", "back", "concept", "hint", "off_topic")


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    # One of the tutor's moves, or "number", "known" (an earlier step's), "statement", "opening".
    gist: str
    text: str
    # A person may give the result of a later step.
    step: Step
    value: float | None = None
    right: bool | None = None


def read(scene: Scene) -> Message:
    text, step = one_line(scene.turn.student.text), step_of(scene)
    is_opening, is_person = not scene.messages(student=False), scene.record.person
    # A person may begin with an answer.
    if is_opening and not is_person:
        return Message(gist="opening", text=text, step=step)
    if (number := _number(scene, text, step)) is not None:
        return number
    if is_opening:
        return Message(gist="opening", text=text, step=step)
    request = next((one for one in _REQUESTS if BOOK.cue("soliloquy", one).search(text)), "unclear")
    if scene.slot("is_asked_why") and not is_person:
        return Message(gist="reason", text=text, step=step)
    if is_numeric(step):
        # A person is told of no formula that is right, since nothing is calculated for it.
        is_partial = request == "unclear" and not is_person and says(text, step.formula)
        return Message(gist="partial" if is_partial else request, text=text, step=step)
    found, calculated = _statement(text, step), _verdict(scene)
    if isinstance(found, bool):
        return Message(gist="statement", text=text, step=step, right=found if calculated is None else calculated)
    return Message(gist=found or request, text=text, step=step)


def _number(scene: Scene, text: str, step: Step) -> Message | None:
    """Returns the number that a message claims; one that nobody has listed is searched for in the words."""
    ledger, claims, steps = ledger_of(scene.problem), scene.turn.student.claims, scene.problem.steps
    for claim in reversed(claims):
        entry = ledger.entry(claim.quantity) if claim.quantity else None
        there = steps[entry.step - 1] if entry and scene.record.person and entry.step else step
        if is_numeric(there) and (entry is None or entry.quantity.symbol == there.result.symbol):
            gist = "number" if there.number >= step.number else "known"
            value = in_unit(claim, there.result.unit)
            return Message(gist=gist, text=text, step=there, value=value, right=_verdict(scene))
    for there in [] if claims else steps[step.number - 1 :] if scene.record.person else [step]:
        own, stated = ledger.of_step(there.number), answer_quantity(text, there.result.unit)
        right = judge_text(text, own, ledger, there.ask) if is_numeric(there) and own and stated else None
        if stated and (right or (right is False and there == step and _is_about(text, stated, scene, step))):
            found = answer_in(text, there.result.unit)
            return Message(gist="number", text=text, step=there, value=found, right=_verdict(scene))
    return None


def _is_about(text: str, stated: WrittenQuantity, scene: Scene, step: Step) -> bool:
    """Whether a number may be meant for the step: in its unit, alone, or in a message with no word of anything else."""
    is_alone = any(one.quantity == stated and one.force == ALONE for one in statements(text) or ())
    if is_alone or (stated.unit is not None and stated.unit == unit(step.result.unit)):
        return True
    known = content_words(f"{scene.problem.question} {step.ask} {step.result.name} {step.explanation}")
    return not [word for word in content_words(text) if word.isalpha() and len(word) > 1 and word not in known]


def _verdict(scene: Scene) -> bool | None:
    """Returns whether the calculation confirms the student's answer; None without one."""
    return next((value == "True" for value in scene.output.values() if value in ("True", "False")), None)


def _statement(text: str, step: Step) -> bool | str:
    """Whether a message gives the answer to a step without a number; "partial" for a part, "" if that is open."""
    if step.kind == STEP_KIND_ALGEBRA and (right := gives_algebra(text, step.formula)) is not None:
        return right
    if says(text, answer(step)):
        return True
    if any(slip.working and says(text, slip.working.rstrip(".")) for slip in step.slips):
        return False
    if step.kind != STEP_KIND_KNOWNS or not step.inputs:
        return ""
    said, known = values_in(text), [one.value for one in step.inputs]
    found = sum(any(same(value, one) for value in said) for one in known)
    if found == len(known):
        return True
    if any(not any(same(value, one) for one in known) for value in said):
        return False
    return "partial" if found else ""
