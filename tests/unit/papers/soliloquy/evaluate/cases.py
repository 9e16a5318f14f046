"""Evaluations in one process: real cases and judgements, code that runs without a sandbox, and tutors that fail."""

import asyncio
from collections.abc import Iterator
from functools import cache, partial

from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.bank.sampling import sample
from soliloquy.recipes.recipe import find
from soliloquy.runtime.model import Model, ModelRefused
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Execution, Job
from soliloquy_papers.soliloquy.evaluate.cases import Rehearsal, TutorCase
from soliloquy_papers.soliloquy.evaluate.evaluation import answer_case, draw_cases
from soliloquy_papers.soliloquy.evaluate.judging import JudgedCase
from soliloquy_services.executor.handler import run
from soliloquy_services.model.engines.noise import noise_of
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_training.evaluation.cases import DrawnCases, run_bounded
from soliloquy_training.evaluation.recipe_loop import RecipeLoop
from tests.unit.scripted.growing import DESK

BANK = load_bank("physics")
SCRIPTED = ScriptedEngine()
NOISY = ScriptedEngine(noise=noise_of("harsh"))


class Forgiving:
    """Tells of code that fails, as a sandbox does."""

    async def execute(self, job: Job) -> Execution:
        try:
            return await DESK.execute(job)
        except (SyntaxError, NameError, ArithmeticError, KeyError) as error:
            return Execution(status=STATUS_ERROR, error=repr(error))


def tutoring(model: Model) -> RecipeLoop:
    return RecipeLoop(recipe=find("soliloquy"), model=model, execute=partial(run, sandbox=Forgiving()))


def problems(seed: int) -> Iterator[Problem]:
    return (BANK.family(name).problem(number) for name, number in sample(BANK, seed))


def drawn(questions: int, seed: int = 5) -> DrawnCases[TutorCase]:
    rehearsal = Rehearsal(loop=tutoring(SCRIPTED), seed=seed)
    return asyncio.run(draw_cases(problems(seed), rehearsal, questions=questions))


@cache
def shared_cases() -> DrawnCases[TutorCase]:
    return drawn(30)


def results(model: Model, cases: DrawnCases[TutorCase] | None = None) -> list[JudgedCase]:
    put = (cases or shared_cases()).cases
    return asyncio.run(run_bounded(put, partial(answer_case, loop=tutoring(model)), at_once=8))


class Answering:
    """Answers one state always the same, and all others as the scripted model does."""

    def __init__(self, state: str, text: str) -> None:
        self._prompt, self._text = f"soliloquy/{state}", text

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.prompt == self._prompt:
            return Completion(text=self._text, model="stubborn")
        return await SCRIPTED.generate(request)


class Refusing:
    async def generate(self, request: GenerateRequest) -> Completion:
        raise ModelRefused("the prompt has 900 tokens, which is more than the context of 512")
