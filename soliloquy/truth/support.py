"""Whether anything supports the numbers of a problem: a calculation that was worked through, or programs that agree."""

from soliloquy.v1.conversation_pb2 import Problem, Step


def is_supported(step: Step, problem: Problem) -> bool:
    """Whether a step's result was calculated when the problem was read, or is an answer that programs agree on."""
    is_answer = problem.HasField("answer") and step.HasField("result") and step.result.value == problem.answer.value
    return bool(step.expression) or (is_answer and problem.agreeing_programs > 0)


def has_supported_answer(problem: Problem) -> bool:
    answers = (step for step in problem.steps if step.result.value == problem.answer.value)
    return any(is_supported(step, problem) for step in answers)
