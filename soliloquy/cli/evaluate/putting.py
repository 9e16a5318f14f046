"""Cases put to a tutor: drawn, judged in a sandbox, and what they came to as a report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soliloquy.cli.evaluate.questions import held_out
from soliloquy.cli.evaluate.running import Bar, completed, fingerprints, sandboxed
from soliloquy.cli.evaluate.tutor import Tutor
from soliloquy.recipes.recipe import find
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.v1.conversation_pb2 import Problem
from training.evaluation.higgs.cases import RECIPE, Rehearsal
from training.evaluation.higgs.figures import figures
from training.evaluation.higgs.judging import METRICS, JudgedCase
from training.evaluation.higgs.page import PAPER, WHOSE
from training.evaluation.higgs.protocol import DrawnCases, draw_cases, evaluate_cases
from training.evaluation.recipe_loop import RecipeLoop


@dataclass(frozen=True, kw_only=True, slots=True)
class Putting:
    """Which questions are put to whom."""

    tutor: Tutor
    questions: int
    seed: int
    in_flight: int
    # No question of these is put.
    trained: Sequence[Path] = ()

    def report(self, name: str, *, quiet: bool) -> tuple[dict[str, Any], list[JudgedCase]]:
        """With what was found of each case; raises Failure."""
        source, questions = held_out(self.tutor.problems, seed=self.seed, trained=self.trained)
        prompts = fingerprints(RECIPE)
        drawn, results = completed(_evaluated(self, questions, quiet=quiet))
        report = {
            "protocol": "higgs",
            "name": name,
            "model": self.tutor.identity(),
            "adapters": sorted(set[str]().union(*(result.adapters for result in results))),
            "cases": {
                "put": f"{self.questions} questions of `{self.tutor.problems}`, seed {self.seed}",
                "problems": self.tutor.problems,
                "problems_sha256": source.digest,
                "questions": self.questions,
                "seed": self.seed,
                "sha256": drawn.digest,
                "passed_over": drawn.passed_over,
                "problem_ids": sorted({case.conversation.problem.id for case in drawn.cases}),
            },
            "prompts_sha256": prompts,
            "titles": METRICS,
            "figures": figures(results),
            "paper": PAPER,
            "whose": WHOSE,
        }
        return report, results


async def _evaluated(
    putting: Putting, questions: Iterator[Problem], *, quiet: bool
) -> tuple[DrawnCases, list[JudgedCase]]:
    recipe = find(RECIPE)
    # The students and what was said before a case is put do not depend on the model.
    scripted = scripted_model(ModelSettings(problems=[putting.tutor.problems]))
    async with putting.tutor.answering() as answering, sandboxed() as execute:
        rehearsal = Rehearsal(tutoring=RecipeLoop(recipe=recipe, model=scripted, execute=execute), seed=putting.seed)
        drawn = await draw_cases(questions, rehearsal, questions=putting.questions)
        tutoring = RecipeLoop(recipe=recipe, model=answering, execute=execute)
        missed = 0
        with Bar(answering, of=len(drawn.cases), quiet=quiet) as bar:

            def tell(result: JudgedCase) -> None:
                nonlocal missed
                missed += not all(result.passed.values())
                bar.tell(f"missed {missed}")

            results = await evaluate_cases(drawn.cases, tutoring, at_once=putting.in_flight, tell=tell)
        return drawn, results
