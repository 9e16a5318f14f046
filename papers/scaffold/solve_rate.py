"""Counts how often a student solves a problem alone."""

import asyncio
from collections.abc import Mapping
from typing import Self

from soliloquy.recipes.answers import PlainAnswer, Text
from soliloquy.recipes.scaffold import plan_prompting
from soliloquy.recipes.scaffold.expected_answers import gives_quantity
from soliloquy.recipes.scaffold.plan_rules import CLOSENESS
from soliloquy.runtime.answers import Unreadable
from soliloquy.runtime.ask import Ask, Unusable
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.samples import JoinedRequests
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Problem

_MARK = "Answer:"


class Solution(PlainAnswer):
    """A submitted solution. One without an answer is a failed try, and is not asked for again."""

    text: Text

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        if not text.strip():
            raise Unreadable("the solution is empty")
        return cls(text=text), _MARK in text

    @property
    def answer(self) -> str:
        """Empty if the text marks no answer."""
        return self.text.rpartition(_MARK)[2].strip() if _MARK in self.text else ""


async def count_solved(
    problem: Problem, model: Model, *, tries: int, seed: int, talk: str = "", changed: Mapping[str, str] = {}
) -> int:
    """Counts the tries with a right answer, alone or after a dialogue about the problem."""
    prompt = plan_prompting.solving(problem, talk, changed)
    joined, student = JoinedRequests(model, tries), digest(seed, problem.id)

    async def solved(number: int) -> bool:
        ask = Ask(model=joined, role="student", origin=(seed, problem.id, number), draw_key=student, problem=problem)
        try:
            handed_in = await ask(prompt, Solution)
        except Unusable:
            return False
        return gives_quantity(handed_in.answer, problem.answer, **CLOSENESS) is True

    return sum(await asyncio.gather(*map(solved, range(tries))))
