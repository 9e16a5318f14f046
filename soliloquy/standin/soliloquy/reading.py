"""Takes a student's message as the record has it: what it claims, else what its words ask for."""

from dataclasses import dataclass
from enum import Enum, auto

from soliloquy.recipes.scene import Scene
from soliloquy.recipes.templates import one_line
from soliloquy.standin.slips import same
from soliloquy.standin.soliloquy.steps import answer, book, is_numeric, step_of
from soliloquy.texts.phrases import says
from soliloquy.texts.utterances import content_words
from soliloquy.truth.algebra import gives_algebra
from soliloquy.truth.judge import in_unit, judge_text
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.quantities import WrittenQuantity, values_in
from soliloquy.truth.stated_answer import ALONE, answer_in, answer_quantity, statements
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import STEP_KIND_ALGEBRA, STEP_KIND_KNOWNS, Step


class Gist(Enum):
    OPENING = auto()
    # The reason for a right answer.
    REASON = auto()
    NUMBER = auto()
    # An answer to a step without a number.
    STATEMENT = auto()
    # The result of an earlier step, once more.
    KNOWN = auto()
    PARTIAL = auto()
    HINT = auto()
    SOLUTION = auto()
    BACK = auto()
    CONCEPT = auto()
    OFF_TOPIC = auto()
    UNCLEAR = auto()


# The first whose cue a message has counts.
_REQUESTS = (Gist.SOLUTION, Gist.BACK, Gist.CONCEPT, Gist.HINT, Gist.OFF_TOPIC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    gist: Gist
    text: str
    # A person may give the result of a later step.
    step: Step
    value: float | None = None
    right: bool | None = None


def read(scene: Scene) -> Message:
    text, step = one_line(scene.turn.student.text), step_of(scene)
    is_opening = not scene.messages(student=False)
    # A person may begin with an answer.
    if is_opening and not scene.record.person:
        return Message(gist=Gist.OPENING, text=text, step=step)
    if (number := _number(scene, text, step)) is not None:
        return number
    if is_opening:
        return Message(gist=Gist.OPENING, text=text, step=step)
    request = next((one for one in _REQUESTS if book().cue(one.name.lower()).search(text)), None)
    if scene.slot("is_asked_why") and not scene.record.person:
        return Message(gist=Gist.REASON, text=text, step=step)
    if not is_numeric(step):
        found = _statement(text, step)
        if found is Gist.PARTIAL or (found is None and request):
            return Message(gist=found or request or Gist.UNCLEAR, text=text, step=step)
        if found is not None:
            calculated = _verdict(scene)
            right = bool(found) if calculated is None else calculated
            return Message(gist=Gist.STATEMENT, text=text, step=step, right=right)
    # A person is told of no formula that is right, since nothing is calculated for it.
    if request is None and is_numeric(step) and not scene.record.person and says(text, step.formula):
        request = Gist.PARTIAL
    return Message(gist=request or Gist.UNCLEAR, text=text, step=step)


def _number(scene: Scene, text: str, step: Step) -> Message | None:
    """Returns the number that a message claims; one that nobody has listed is searched for in the words."""
    ledger, claims = ledger_of(scene.problem), scene.turn.student.claims
    for claim in reversed(claims):
        entry = ledger.entry(claim.quantity) if claim.quantity else None
        there = scene.problem.steps[entry.step - 1] if entry and scene.record.person and entry.step else step
        if not is_numeric(there) or (entry and entry.quantity.symbol != there.result.symbol):
            continue
        value = in_unit(claim, there.result.unit)
        gist = Gist.NUMBER if there.number >= step.number else Gist.KNOWN
        return Message(gist=gist, text=text, step=there, value=value, right=_verdict(scene))
    if claims:
        return None
    # A person may give the result of a later step.
    steps = scene.problem.steps[step.number - 1 :] if scene.record.person else [step]
    for there in filter(is_numeric, steps):
        own, stated = ledger.of_step(there.number), answer_quantity(text, there.result.unit)
        right = judge_text(text, own, ledger, there.ask) if own and stated else None
        if stated and (right or (right is False and there == step and _is_about(text, stated, scene, step))):
            found = answer_in(text, there.result.unit)
            return Message(gist=Gist.NUMBER, text=text, step=there, value=found, right=_verdict(scene))
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


def _statement(text: str, step: Step) -> bool | Gist | None:
    """Whether a message gives the answer to a step without a number, or a part of it; None if it cannot be judged."""
    if step.kind == STEP_KIND_ALGEBRA and (right := gives_algebra(text, step.formula)) is not None:
        return right
    if says(text, answer(step)):
        return True
    if any(slip.working and says(text, slip.working.rstrip(".")) for slip in step.slips):
        return False
    if step.kind != STEP_KIND_KNOWNS or not step.inputs:
        return None
    values = values_in(text)
    found = sum(any(same(value, known.value) for value in values) for known in step.inputs)
    if found == len(step.inputs):
        return True
    if any(not any(same(value, known.value) for known in step.inputs) for value in values):
        return False
    return Gist.PARTIAL if found else None
