"""Runs the evaluation of the Code Soliloquies paper: held-out questions, each with a right and a wrong answer.

In the paper a person judged 25 questions; here the truth check and the sandbox judge any number."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import uvloop
from rich.table import Table

from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.dataset.tables import plain, table
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy_papers.soliloquy.evaluate.cases import RECIPE, CaseKind, Rehearsal, TutorCase, numeric_steps
from soliloquy_papers.soliloquy.evaluate.judging import METRICS, JudgedCase, judge, judge_unanswered
from soliloquy_training.evaluation.cases import NO_ANSWER, DrawnCases, Share, digest_of, parse_figures, share_of
from soliloquy_training.evaluation.recipe_loop import RecipeLoop
from soliloquy_training.evaluation.report import format_share


def figures(results: Sequence[JudgedCase]) -> dict[str, Any]:
    rearranging = [result for result in results if result.case.rearranges]
    questions = [result for result in results if result.case.kind is CaseKind.RIGHT]
    others = [result for result in results if result.case.kind.numeric and not result.case.rearranges]
    return {
        "metrics": _metrics(results),
        "verification_by_answer": {
            kind.value: _share([result for result in results if result.case.kind is kind], "verification")
            for kind in (CaseKind.RIGHT, CaseKind.WRONG)
        },
        "rearranging": {
            "questions": share_of(result.case.rearranges for result in questions),
            "metrics": _metrics(rearranging),
            "metrics_of_others": _metrics(others),
        },
        **parse_figures(results),
    }


def _metrics(results: Sequence[JudgedCase]) -> dict[str, Share]:
    return {name: _share(results, name) for name in METRICS}


def _share(results: Sequence[JudgedCase], metric: str) -> Share:
    return share_of(result.passed[metric] for result in results if metric in result.passed)


# The paper's figures: a person judged its own model on 25 questions.
PAPER = {"usage": 1.0, "non_usage": 1.0, "compilation": 0.97, "verification": 0.88}
WHOSE = "the paper's Higgs"


def page(report: Mapping[str, Any], results: Sequence[JudgedCase]) -> Iterator[str]:
    figures = report["figures"]
    yield f"""# Code Soliloquies evaluation of {plain(report["name"])}

{plain(report["cases"]["put"])}, each once with a right and
once with a wrong number from the student, and as many cases without a number.
Judged by the truth check and the sandbox; 95 % intervals after Wilson.
"""
    rows = [[title, format_share(figures["metrics"][name]), f"{PAPER[name]:.2f}"] for name, title in METRICS.items()]
    yield table(["metric", "share of cases", "Higgs, judged by a person"], rows)
    rearranging = figures["rearranging"]
    yield f"\nQuestions that need a rearrangement: {format_share(rearranging['questions'])}.\n"
    groups = [rearranging["metrics"], rearranging["metrics_of_others"]]
    names = ("usage", "compilation", "verification")
    rows = [[METRICS[name], *(format_share(group[name]) for group in groups)] for name in names]
    yield table(["metric", "with a rearrangement", "without"], rows)
    right, wrong = (format_share(figures["verification_by_answer"][kind]) for kind in ("right", "wrong"))
    missed = [result for result in results if not all(result.passed.values())]
    yield f"""
Right numbers confirmed: {right}. Wrong ones caught: {wrong}.
Answers that could be read at the first try: {format_share(figures["read_at_first"])}.

## Missed: {len(missed)} of {len(results)} cases
"""
    yield from map(_miss, missed)


def _miss(result: JudgedCase) -> str:
    problem = result.case.conversation.problem.source
    names = ", ".join(METRICS[name] for name, passed in result.passed.items() if not passed)
    return f"- {plain(result.case.id)} ({result.case.kind}, {plain(problem)}, step {result.case.step.number}): {names}"


# The number of problems to try per question: most are suitable, but a bank may have some without a calculation.
_LOOKED_AT = 40


def evaluate(settings: EvaluationSettings, questions: int) -> Evaluated:
    """Raises Failure if there are too few questions, or the tutor cannot be asked."""
    source, problems = settings.held_out()
    drawn, results = uvloop.run(_answer(settings, problems, questions))
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
        rehearsal = Rehearsal(loop=replace(loop, model=settings.scripted(), prompts={}), seed=settings.seed)
        drawn = await draw_cases(problems, rehearsal, questions=questions)
        answer = partial(answer_case, loop=loop)
        return drawn, await settings.run(
            model, drawn.cases, answer, counted="missed", counts=lambda result: not all(result.passed.values())
        )


def _table(report: Mapping[str, Any]) -> Table:
    table, made = figures_table(report, METRICS), report["figures"]
    rearranging = made["rearranging"]
    table.add_section()
    table.add_row("questions that need a rearrangement", format_share(rearranging["questions"]), "")
    table.add_row("calculation verification of those", format_share(rearranging["metrics"]["verification"]), "")
    table.add_row("answers read at the first try", format_share(made["read_at_first"]), "")
    return table


async def draw_cases(problems: Iterable[Problem], rehearsal: Rehearsal, *, questions: int) -> DrawnCases[TutorCase]:
    """Draws a right and a wrong answer to each question, and one case per question without a calculation.

    The latter is the opening or, for every second question, a message in words about a conceptual question if there is
    one.
    """
    numeric: list[list[TutorCase]] = []
    in_words: list[TutorCase] = []
    passed_over = 0
    for problem in islice(problems, _LOOKED_AT * questions):
        wanted = len(numeric) < questions, len(in_words) < questions // 2
        if not any(wanted):
            break
        if not numeric_steps(problem):
            if wanted[1] and (case := await rehearsal.concept(problem)):
                in_words.append(case)
        elif wanted[0]:
            found = await rehearsal.numeric(problem)
            passed_over += not found
            numeric += [found] if found else []
    if len(numeric) < questions:
        raise Failure(
            f"only {len(numeric)} of {questions} questions are suitable ({passed_over} skipped): ask for fewer"
        )
    cases = list(_interleave(numeric, in_words))
    return DrawnCases(cases=cases, passed_over=passed_over, digest=digest_of([*map(_content, cases)]))


def _interleave(numeric: Sequence[Sequence[TutorCase]], in_words: Sequence[TutorCase]) -> Iterator[TutorCase]:
    """Replaces every second opening by a message in words."""
    for number, (right, wrong, opening) in enumerate(numeric):
        yield from (right, wrong)
        concept = in_words[number // 2] if number % 2 and number // 2 < len(in_words) else None
        yield concept or opening


async def answer_case(case: TutorCase, loop: RecipeLoop) -> JudgedCase:
    try:
        return judge(case, await loop.answer(case.conversation))
    except NO_ANSWER as error:
        return judge_unanswered(case, str(error))


def _content(case: TutorCase) -> list[str]:
    texts = [text for turn in case.conversation.turns for text in (turn.student.text, turn.tutor.text)]
    return [case.id, case.kind, *texts]
