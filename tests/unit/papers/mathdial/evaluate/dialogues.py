"""MathDial evaluations in one process: students by rule, code that runs without a sandbox, and tutors of any kind."""

import asyncio
from functools import partial

from soliloquy.problems.bank.sampling import sample
from soliloquy.recipes.recipe import Recipe, find
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_papers.mathdial.evaluate.dialogues import draw_dialogues, hold_dialogue
from soliloquy_papers.mathdial.evaluate.judging import JudgedDialogue
from soliloquy_services.executor.handler import run
from soliloquy_training.evaluation.cases import DrawnCases, run_bounded
from soliloquy_training.evaluation.recipe_loop import RecipeLoop
from tests.unit.papers.soliloquy.evaluate.cases import Forgiving
from tests.unit.scripted.dialling import BANK, ENGINE

RECIPE = find("mathdial")


def drawn(dialogues: int, seed: int = 3) -> DrawnCases[Conversation]:
    problems = (BANK.family(name).problem(number) for name, number in sample(BANK, seed))
    return asyncio.run(draw_dialogues(problems, ENGINE, {}, seed=seed, dialogues=dialogues, at_once=8))


def tutoring(recipe: Recipe = RECIPE, model: Model = ENGINE) -> RecipeLoop:
    return RecipeLoop(recipe=recipe, model=model, execute=partial(run, sandbox=Forgiving()))


def results(of: RecipeLoop, students: DrawnCases[Conversation]) -> list[JudgedDialogue]:
    return asyncio.run(run_bounded(students.cases, partial(hold_dialogue, loop=of), at_once=8))


class Saying:
    """Answers one state always the same, and all others as the scripted model does."""

    def __init__(self, state: str, texts: dict[str, str]) -> None:
        self._prompt, self._texts = f"mathdial/{state}", texts

    async def generate(self, request: GenerateRequest) -> Completion:
        asked = "\n".join(message.text for message in request.messages)
        if request.prompt == self._prompt:
            text = next(text for question, text in self._texts.items() if question in asked)
            return Completion(text=text, model="stubborn")
        return await ENGINE.generate(request)


def conversation(*messages: tuple[str, str]) -> Conversation:
    """Makes a turn of each student message and the reply to it."""
    made = Conversation()
    for speaker, text in messages:
        if speaker == "student" or not made.turns or made.turns[-1].HasField("tutor"):
            made.turns.add(number=len(made.turns) + 1)
        (made.turns[-1].student if speaker == "student" else made.turns[-1].tutor).text = text
    return made
