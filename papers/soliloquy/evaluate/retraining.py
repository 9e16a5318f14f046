"""Compares the versions of a tutor's adapter by the paper's metrics, and tests each with prompts of the tutor."""

from collections.abc import Iterator

from soliloquy.cli.evaluate.settings import RetrainingEvaluation
from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.codegen import program_prompt
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.truth.number_format import format_quantity
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Intent, Problem
from soliloquy_papers.soliloquy.evaluate.evaluation import evaluate
from soliloquy_papers.soliloquy.evaluate.judging import METRICS
from soliloquy_training.adapters.activation import Canary


def canaries(problem: Problem) -> Iterator[Canary]:
    """Yields prompts for deciding, replying and calculating at the beginning of a conversation."""
    opened = Conversation(problem=problem)
    student = opened.turns.add(number=1).student
    student.text, student.intent = f"How do I begin with this? {problem.question}", Intent.INTENT_OPENING
    yield Canary(role="tutor", prompt=prompting.deciding(opened), answer=Decision)
    yield Canary(role="composer", prompt=prompting.composing(opened), answer=Reply)
    for step in problem.steps:
        if step.HasField("result") and step.inputs:
            given = ", ".join(f"{quantity.symbol} = {format_quantity(quantity)}" for quantity in step.inputs)
            asked = f"Calculate {step.result.name} ({step.result.symbol}): {step.formula or step.expression}, {given}."
            prompt = program_prompt(prompting.TEMPLATES.own, Calculation(description=asked))
            yield Canary(role="codegen", prompt=prompt, answer=Program)
            return


RETRAINING = RetrainingEvaluation(
    metrics=METRICS,
    problems="physics",
    # 0.04 are two of 50 cases.
    may_lose={"usage": 0.04, "non_usage": 0.04, "compilation": 0.04, "verification": 0.02},
    evaluate=evaluate,
    canaries=canaries,
)
