"""Whether anything supports the numbers of a problem: a solution that was read completely, or programs that agree."""

from soliloquy.truth.sources import provenance_of
from soliloquy.v1.conversation_pb2 import Problem, Step


def is_supported(step: Step, problem: Problem) -> bool:
    """Whether a step's result follows from a solution that was read completely, or programs agree on it.

    Which step is wrong is open where programs come to another answer.
    """
    if problem.contradicting_programs:
        return False
    is_answer = problem.HasField("answer") and step.HasField("result") and step.result.value == problem.answer.value
    if is_answer and problem.agreeing_programs:
        return True
    found = provenance_of(problem)
    return not found.doubt and (bool(step.expression) or found.gives(step.result.value))


def has_supported_answer(problem: Problem) -> bool:
    answers = (step for step in problem.steps if step.result.value == problem.answer.value)
    return any(is_supported(step, problem) for step in answers)


def is_weighed(problem: Problem) -> bool:
    """Whether most of its independent programs came to one number."""
    return problem.agreeing_programs > 0 or problem.contradicting_programs > 0


def doubt_about(problem: Problem) -> str:
    """Returns why the answer of a problem is unverified; empty if it is supported."""
    if has_supported_answer(problem):
        return ""
    if problem.contradicting_programs:
        return f"{problem.contradicting_programs} independent programs come to another answer"
    return provenance_of(problem).doubt or "no calculation of the solution gives the answer"
