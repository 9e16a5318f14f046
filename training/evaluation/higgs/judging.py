"""What a tutor made of a case, judged by the truth check and the sandbox, with the evidence."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from soliloquy.recipes.codes import EVALUATION_LETTERS, STRATEGIES
from soliloquy.runtime.values import plain, status_name, verdict
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, ParseOutcome, Turn
from soliloquy.v1.sandbox_pb2 import Execution, Status
from training.evaluation.higgs.cases import CaseKind, TutorCase
from training.evaluation.recipe_loop import adapter_digests, parse_outcomes

# The evaluations by which a tutor says that a number is right, or that it is not.
_SAYING = {CaseKind.RIGHT: {"b"}, CaseKind.WRONG: {"a", "c"}}
METRICS = {
    "usage": "Python usage accuracy",
    "non_usage": "non-usage of Python",
    "compilation": "code compilation",
    "verification": "calculation verification",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedCase:
    """One case: whether each metric that it counts for was met, and why."""

    case: TutorCase
    passed: Mapping[str, bool]
    evidence: Mapping[str, Any]
    # How the answers that the case took could be read, and the digests of the adapters that gave them.
    parsed: Counter[str] = field(default_factory=Counter)
    adapters: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, Any]:
        problem = self.case.conversation.problem
        student = self.case.conversation.turns[-1].student
        return {
            "case": self.case.id,
            "kind": self.case.kind,
            "problem": problem.source,
            "question": problem.question,
            "step": self.case.step.number,
            "rearranges": self.case.rearranges,
            "student": student.text,
            "strategy": STRATEGIES.get(student.strategy),
            "passed": dict(self.passed),
            **self.evidence,
            "parsed": dict(sorted(self.parsed.items())),
        }


def judge(case: TutorCase, answered: Conversation) -> JudgedCase:
    turn = answered.turns[-1]
    used = _decided(turn)
    passed: dict[str, bool] = {"usage" if case.kind.numeric else "non_usage": used is case.kind.numeric}
    if used:
        passed["compilation"] = _ran(turn.calculation, 0)
    if case.kind.numeric:
        passed["verification"] = _verified(case, turn)
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
        parsed=parse_outcomes(turn.calls),
        adapters=adapter_digests(turn.calls),
    )


def judge_unanswered(case: TutorCase, why: str) -> JudgedCase:
    """A case that the model would not take: none of what it was to show has been shown."""
    names = ("usage", "verification") if case.kind.numeric else ("non_usage",)
    return JudgedCase(case=case, passed=dict.fromkeys(names, False), evidence={"used_python": None, "ended": why})


def _decided(turn: Turn) -> bool | None:
    """Whether Python was used; None where the tutor came to no decision."""
    if turn.HasField("calculation"):
        return True
    decided = any(call.role == "tutor" and call.outcome != ParseOutcome.PARSE_OUTCOME_FAILED for call in turn.calls)
    return False if decided else None


def _verified(case: TutorCase, turn: Turn) -> bool:
    """Whether the tutor told right from wrong, and from a program that found so too."""
    attempts = turn.calculation.attempts
    if EVALUATION_LETTERS.get(turn.tutor.evaluation) not in _SAYING[case.kind]:
        return False
    return bool(attempts) and _found(attempts[-1].execution, case)


def _found(execution: Execution, case: TutorCase) -> bool:
    """By its own comparison with the student's number, its values, or both; neither may be otherwise than is so."""
    if execution.status != Status.STATUS_OK:
        return False
    found = verdict(execution)
    values = [plain(named.value) for named in execution.values]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    told = [found is (case.kind is CaseKind.RIGHT)] if found is not None else []
    told += [any(_is_result(number, case) for number in numbers)] if numbers else []
    return bool(told) and all(told)


def _is_result(number: float, case: TutorCase) -> bool:
    """In the unit that the step asks for, or in the base unit behind it."""
    result, tolerance = case.step.result, case.conversation.problem.tolerance or 0.01
    asked = unit(result.unit)
    forms = (result.value, result.value * asked.factor + asked.offset)
    return any(math.isclose(number, form, rel_tol=tolerance) for form in forms)


def _ran(calculation: Calculation, at: int) -> bool:
    attempts = calculation.attempts
    return len(attempts) > at and attempts[at].execution.status == Status.STATUS_OK
