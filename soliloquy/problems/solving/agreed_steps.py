"""Takes the steps of a problem from programs that solved it from the question alone."""

from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from soliloquy.problems.files.problem_from_row import BadField, problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.problems.solving.step_graph import steps_from_script
from soliloquy.programs.terms import CannotTrace
from soliloquy.v1.conversation_pb2 import CodeAttempt, Problem, Step


def is_bare(problem: Problem) -> bool:
    """Whether the solution says the answer and nothing of how it is found."""
    results = sum(step.HasField("result") for step in problem.steps)
    return results <= 1 and not any(step.expression or step.formula for step in problem.steps)


def agreed_steps(problem: Problem, programs: Iterable[CodeAttempt]) -> Sequence[Step]:
    """Returns the steps of the first program that can be followed to the answer; empty if none can."""
    answer = {"value": problem.answer.value, "unit": problem.answer.unit}
    for program in programs:
        try:
            steps = steps_from_script(program.code, *program.result_variables[:1])
            row = ProblemRow.model_validate(
                {"question": problem.question, "solution": program.code, "steps": steps, "answer": answer}
            )
            return problem_from_row(row, problem.source).steps
        except (CannotTrace, ValidationError, BadField):
            # Another program may have been written in a way that can be followed.
            continue
    return ()
