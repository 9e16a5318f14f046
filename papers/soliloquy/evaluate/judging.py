"""Judges a tutor's answer to a case by the truth check and the sandbox, with the evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soliloquy.recipes.codes import EVALUATION_LETTERS, STRATEGIES
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels
from soliloquy.recipes.verdicts import verdict
from soliloquy.runtime.values import plain, status_name
from soliloquy.truth.exactness import is_right
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, ParseOutcome, Turn
from soliloquy.v1.sandbox_pb2 import Execution, Status
from soliloquy_papers.soliloquy.evaluate.cases import CaseKind, TutorCase
from soliloquy_training.evaluation.cases import parse_outcomes

# The evaluations with which a tutor calls a number right or wrong.
_SAYING = {CaseKind.RIGHT: {"b"}, CaseKind.WRONG: {"a", "c"}}
METRICS = {
    "usage": "Python usage accuracy",
    "non_usage": "non-usage of Python",
    "compilation": "code compilation",
    "verification": "calculation verification",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedCase:
    """One case: which of its metrics were met, and the evidence."""

    case: TutorCase
    passed: Mapping[str, bool]
    evidence: Mapping[str, Any]
    # The model calls of the tutor.
    calls: Sequence[ModelCall] = ()

    def as_json(self) -> dict[str, Any]:
        problem = self.case.conversation.problem
        *before, last = self.case.conversation.turns
        student = last.student
        return {
            "case": self.case.id,
            "kind": self.case.kind,
            "problem": problem.source,
            "question": problem.question,
            "solution": problem.solution,
            "history": [
                {"speaker": speaker, "text": text}
                for turn in before
                for speaker, text in (("student", turn.student.text), ("tutor", turn.tutor.text))
            ],
            "step": self.case.step.number,
            "rearranges": self.case.rearranges,
            "student": student.text,
            "strategy": STRATEGIES.get(StudentLabels.FromString(student.labels).strategy),
            "passed": dict(self.passed),
            **self.evidence,
            "parsed": parse_outcomes(self.calls),
        }


def judge(case: TutorCase, answered: Conversation) -> JudgedCase:
    turn = answered.turns[-1]
    used = _used_python(turn)
    passed: dict[str, bool] = {"usage" if case.kind.numeric else "non_usage": used is case.kind.numeric}
    if used:
        attempts = turn.calculation.attempts
        passed["compilation"] = bool(attempts) and attempts[0].execution.status == Status.STATUS_OK
    if case.kind.numeric:
        passed["verification"] = _is_verified(case, turn)
    return JudgedCase(
        case=case,
        passed=passed,
        evidence={
            "used_python": used,
            "description": turn.calculation.description,
            "attempts": [
                {
                    "code": attempt.code,
                    "status": status_name(attempt.execution),
                    "error": attempt.execution.error,
                    "values": {named.name: plain(named.value) for named in attempt.execution.values},
                }
                for attempt in turn.calculation.attempts
            ],
            "evaluation": EVALUATION_LETTERS.get(turn.tutor.evaluation),
            "reply": turn.tutor.text,
            "ended": answered.ending_reason,
        },
        calls=turn.calls,
    )


def judge_unanswered(case: TutorCase, why: str) -> JudgedCase:
    """Judges a case that the model refused: it meets no metric."""
    names = ("usage", "verification") if case.kind.numeric else ("non_usage",)
    return JudgedCase(case=case, passed=dict.fromkeys(names, False), evidence={"used_python": None, "ended": why})


def _used_python(turn: Turn) -> bool | None:
    """Whether Python was used; None if the tutor reached no decision."""
    if turn.HasField("calculation"):
        return True
    decided = any(call.role == "tutor" and call.outcome != ParseOutcome.PARSE_OUTCOME_FAILED for call in turn.calls)
    return False if decided else None


def _is_verified(case: TutorCase, turn: Turn) -> bool:
    """Whether the tutor recognised the answer as right or wrong, and its program did too."""
    attempts = turn.calculation.attempts
    if EVALUATION_LETTERS.get(turn.tutor.evaluation) not in _SAYING[case.kind]:
        return False
    return bool(attempts) and _program_agrees(attempts[-1].execution, case)


def _program_agrees(execution: Execution, case: TutorCase) -> bool:
    """Checks the program's comparison with the student's number and its values; neither may be wrong."""
    if execution.status != Status.STATUS_OK:
        return False
    found = verdict(execution)
    values = [plain(named.value) for named in execution.values]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    told = [found is (case.kind is CaseKind.RIGHT)] if found is not None else []
    told += [any(_is_result(number, case) for number in numbers)] if numbers else []
    return bool(told) and all(told)


def _is_result(number: float, case: TutorCase) -> bool:
    """Accepts the unit of the step and its base unit."""
    result, tolerance = case.step.result, case.conversation.problem.tolerance or 0.01
    asked = unit(result.unit)
    forms = (result.value, result.value * asked.factor + asked.offset)
    return any(is_right(number, form, result.unit, tolerance) for form in forms)
