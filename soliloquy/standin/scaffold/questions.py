"""Finds the sub-question at hand, and the step that it covers."""

from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.learner import asked_step
from soliloquy.recipes.scaffold.memory import plan_of
from soliloquy.recipes.scene import Scene
from soliloquy.v1.conversation_pb2 import Problem, Step


def known_problem(scene: Scene) -> Problem:
    """Returns the problem; of one without steps, the answer is the only step."""
    if scene.problem.steps:
        return scene.problem
    problem = Problem()
    problem.CopyFrom(scene.problem)
    problem.steps.add(number=1, ask=problem.question, result=problem.answer)
    return problem


def question_of(scene: Scene) -> SubQuestion:
    return plan_of(scene.problem).questions[int(scene.slot("number")) - 1]


def step_of(scene: Scene) -> Step:
    """Returns the last step that the sub-question covers."""
    return asked_step(known_problem(scene), question_of(scene))
