"""Evaluates a tutor by the protocol of the Code Soliloquies paper, and reports the figures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soliloquy.cli.evaluate.execution import CaseProgress, fingerprints, run_evaluation, sandboxed
from soliloquy.cli.evaluate.questions import held_out
from soliloquy.cli.evaluate.tutor import Tutor
from soliloquy.recipes.recipe import find
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.v1.conversation_pb2 import Problem

if TYPE_CHECKING:
    from soliloquy.recipes.soliloquy.evaluate.judging import JudgedCase
    from soliloquy.recipes.soliloquy.evaluate.protocol import DrawnCases


@dataclass(frozen=True, kw_only=True, slots=True)
class HiggsEvaluation:
    """A tutor, and the questions that it is asked."""

    tutor: Tutor
    questions: int
    seed: int
    in_flight: int
    # Questions from these datasets are left out.
    trained: Sequence[Path] = ()

    def report(self, name: str, *, quiet: bool) -> "tuple[dict[str, Any], list[JudgedCase]]":
        """Returns the report and the result of each case; raises Failure."""
        from soliloquy.recipes.soliloquy.evaluate.cases import RECIPE
        from soliloquy.recipes.soliloquy.evaluate.figures import figures
        from soliloquy.recipes.soliloquy.evaluate.judging import METRICS
        from soliloquy.recipes.soliloquy.evaluate.page import PAPER, WHOSE
        from training.evaluation.recipe_loop import adapter_digests

        source, questions = held_out(self.tutor.problems, seed=self.seed, trained=self.trained)
        prompts = fingerprints(RECIPE)
        drawn, results = run_evaluation(_evaluate(self, questions, quiet=quiet))
        report = {
            "protocol": "soliloquy",
            "name": name,
            "model": self.tutor.identity(),
            "adapters": sorted(adapter_digests(call for result in results for call in result.calls)),
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


async def _evaluate(
    evaluation: HiggsEvaluation, questions: Iterator[Problem], *, quiet: bool
) -> "tuple[DrawnCases, list[JudgedCase]]":
    from soliloquy.recipes.soliloquy.evaluate.cases import RECIPE, Rehearsal
    from soliloquy.recipes.soliloquy.evaluate.protocol import draw_cases, evaluate_cases
    from training.evaluation.recipe_loop import RecipeLoop

    recipe = find(RECIPE)
    # The students and the dialogues before a case do not depend on the tutor's model.
    scripted = scripted_model(ModelSettings(problems=[evaluation.tutor.problems]))
    async with evaluation.tutor.running() as model, sandboxed() as execute:
        rehearsal = Rehearsal(loop=RecipeLoop(recipe=recipe, model=scripted, execute=execute), seed=evaluation.seed)
        drawn = await draw_cases(questions, rehearsal, questions=evaluation.questions)
        loop = RecipeLoop(recipe=recipe, model=model, execute=execute)
        missed = 0
        with CaseProgress(model, cases=len(drawn.cases), quiet=quiet) as bar:

            def tell(result: "JudgedCase") -> None:
                nonlocal missed
                missed += not all(result.passed.values())
                bar.advance(f"missed {missed}")

            results = await evaluate_cases(drawn.cases, loop, at_once=evaluation.in_flight, on_result=tell)
        return drawn, results
