"""A few of the tutor's prompts, which test an adapter before it goes into service."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.codegen import program_prompt
from soliloquy.recipes.soliloquy import prompting
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.ask import Prompt
from soliloquy.truth.number_format import format_quantity
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Intent, Problem
from soliloquy.v1.model_pb2 import GenerateRequest, Sampling

_MAX_TOKENS = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Canary:
    role: str
    prompt: Prompt
    answer: type[Answer]

    def request(self, adapter: str) -> GenerateRequest:
        return GenerateRequest(
            role=self.role,
            prompt=self.prompt.name,
            messages=self.prompt.messages,
            schema=self.answer.json_schema(),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_MAX_TOKENS),
            adapter=adapter,
        )

    def complaint(self, text: str) -> str:
        """Returns why an answer is unusable, or an empty string."""
        try:
            self.answer.read(text)
        except Unreadable as unreadable:
            return f"{self.prompt.name}: {unreadable}"
        return ""


def canaries(problems: Sequence[Problem], count: int) -> list[Canary]:
    found = [canary for problem in problems for canary in _problem_canaries(problem)]
    return found[:count]


def _problem_canaries(problem: Problem) -> Iterator[Canary]:
    """Yields prompts for deciding, replying and calculating at the beginning of a conversation."""
    opened = Conversation(problem=problem)
    student = opened.turns.add(number=1).student
    student.text, student.intent = f"How do I begin with this? {problem.question}", Intent.INTENT_OPENING
    yield Canary(role="tutor", prompt=prompting.deciding(opened), answer=Decision)
    yield Canary(role="composer", prompt=prompting.no_python(opened), answer=Reply)
    for step in problem.steps:
        if step.HasField("result") and step.inputs:
            given = ", ".join(f"{quantity.symbol} = {format_quantity(quantity)}" for quantity in step.inputs)
            asked = f"Calculate {step.result.name} ({step.result.symbol}): {step.formula or step.expression}, {given}."
            prompt = program_prompt(prompting.TEMPLATES, Calculation(description=asked))
            yield Canary(role="codegen", prompt=prompt, answer=Program)
            return
