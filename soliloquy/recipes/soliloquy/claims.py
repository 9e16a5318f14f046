"""Reads the student's answer in a message whose speaker does not say what it claims, and whether it is right."""

import re
from collections.abc import Sequence

from soliloquy.recipes.settled import StudentAnswer, asked_for
from soliloquy.recipes.soliloquy.facts import Facts, matches
from soliloquy.texts.phrases import says, says_exactly
from soliloquy.truth.algebra import gives_algebra
from soliloquy.truth.judge import judge_text
from soliloquy.truth.laws import holds, laws_in
from soliloquy.truth.quantities import WrittenQuantity
from soliloquy.v1.conversation_pb2 import (
    STEP_KIND_ALGEBRA,
    STEP_KIND_CONCEPT,
    STEP_KIND_KNOWNS,
    Step,
)


def read_answer(
    text: str, written: Sequence[WrittenQuantity], facts: Facts, number: int, *, is_reason: bool
) -> StudentAnswer:
    """Reads no answer in the numbers of a reason, unless one is the result."""
    claim = _answer(text, written, facts, number)
    return StudentAnswer() if is_reason and claim.said and not claim.right else claim


def _answer(text: str, written: Sequence[WrittenQuantity], facts: Facts, number: int) -> StudentAnswer:
    step, ledger = facts.problem.steps[number - 1], facts.ledger
    if step.kind == STEP_KIND_ALGEBRA and (right := gives_algebra(text, step.formula)) is not None:
        # The numbers of an equation are none of the results.
        return StudentAnswer(right=right, settled=True)
    entry, said = ledger.of_step(number), _said(text, written, facts)
    # A student may be ahead.
    reached = (one for one in ledger.results if one.step >= number and judge_text(text, one, ledger))
    if (right_at := next(reached, None)) is not None:
        return StudentAnswer(said=said, right=True, settled=ledger.is_settled(right_at), entry=right_at)
    if entry is None:
        right = _statement(text, written, step, facts)
        return StudentAnswer(said=said, right=right, settled=right is not None)
    right = judge_text(text, entry, ledger, asked_for(entry, facts.problem))
    return StudentAnswer(said=said, right=right, settled=right is not None and ledger.is_settled(entry), entry=entry)


def _said(text: str, written: Sequence[WrittenQuantity], facts: Facts) -> str:
    """Returns the last number of a message that the problem does not give; empty if there is none."""
    own = [one for one in written if not one.term and not facts.is_given(one)]
    return text[own[-1].start : own[-1].end].strip() if own else ""


def _statement(text: str, written: Sequence[WrittenQuantity], step: Step, facts: Facts) -> bool | None:
    """Judges the answer to a step without a number: its law, its idea, or the values it lists."""
    if says_exactly(text, step.formula):
        return True
    if any(says(text, slip.working) for slip in step.slips):
        return False
    if step.kind == STEP_KIND_KNOWNS and step.inputs:
        found = [any(matches(one, known, facts.tolerance) for one in written) for known in step.inputs]
        return True if all(found) else None
    if step.kind == STEP_KIND_CONCEPT:
        idea = re.split(r"(?<=[.!?])\s", step.explanation, maxsplit=1)[0]
        return True if says(text, idea) else None
    if step.formula and says(text, step.formula):
        return True
    judged = [held for held in (holds(*sides, facts.values) for sides in laws_in(text)) if held is not None]
    return judged[-1] if judged else None
