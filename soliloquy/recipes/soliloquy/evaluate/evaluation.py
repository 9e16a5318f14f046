"""Evaluates a tutor by the protocol of the Code Soliloquies paper, and reports the figures."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rich.table import Table

from soliloquy.cli.evaluate.execution import run_evaluation
from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.recipes.soliloquy.evaluate.cases import RECIPE, Rehearsal, TutorCase
from soliloquy.recipes.soliloquy.evaluate.figures import PAPER, WHOSE, figures, page
from soliloquy.recipes.soliloquy.evaluate.judging import METRICS, JudgedCase
from soliloquy.recipes.soliloquy.evaluate.protocol import answer_case, draw_cases
from soliloquy.v1.conversation_pb2 import Problem
from training.evaluation.cases import DrawnCases
from training.evaluation.report import format_share


def evaluate(settings: EvaluationSettings, questions: int) -> Evaluated:
    """Raises Failure if there are too few questions, or the tutor cannot be asked."""
    source, problems = settings.held_out()
    drawn, results = run_evaluation(_answer(settings, problems, questions))
    cases = settings.cases(
        source,
        f"{questions} questions of",
        [case.conversation.problem for case in drawn.cases],
        drawn.digest,
        questions=questions,
        passed_over=drawn.passed_over,
    )
    made = figures(results)
    report = settings.report(RECIPE, results, cases=cases, titles=METRICS, figures=made, paper=PAPER, whose=WHOSE)
    return Evaluated(report=report, results=results, page=page(report, results), tables=[_table(report)])


async def _answer(
    settings: EvaluationSettings, problems: Iterator[Problem], questions: int
) -> tuple[DrawnCases[TutorCase], list[JudgedCase]]:
    async with settings.running(RECIPE) as (model, loop):
        # The students and the dialogues before a case do not depend on the tutor's model.
        rehearsal = Rehearsal(loop=replace(loop, model=settings.scripted()), seed=settings.seed)
        drawn = await draw_cases(problems, rehearsal, questions=questions)
        with settings.progress(model, len(drawn.cases), "missed") as bar:
            answer = partial(answer_case, loop=loop)
            return drawn, await bar.run(drawn.cases, answer, lambda result: not all(result.passed.values()))


def _table(report: Mapping[str, Any]) -> Table:
    table, made = figures_table(report, METRICS), report["figures"]
    rearranging = made["rearranging"]
    table.add_section()
    table.add_row("questions that need a rearrangement", format_share(rearranging["questions"]), "")
    table.add_row("calculation verification of those", format_share(rearranging["metrics"]["verification"]), "")
    table.add_row("answers read at the first try", format_share(made["read_at_first"]), "")
    return table
