"""`soliloquy evaluate scaffold`."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from soliloquy.cli.errors import reporting
from soliloquy.cli.evaluate.execution import CaseProgress, fingerprints, run_evaluation, sandboxed
from soliloquy.cli.evaluate.options import problems_option, question_options, report_options, tutor_options
from soliloquy.cli.evaluate.output import deliver, figures_table
from soliloquy.cli.evaluate.questions import held_out
from soliloquy.cli.evaluate.tutor import Tutor, chosen_tutor
from soliloquy.cli.options import EXISTING_FILE, count_option
from soliloquy.recipes.recipe import find
from soliloquy.runs.failure import Failure
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.model import Model, StreamingModel
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import BadModelSettings, Models, read_models

if TYPE_CHECKING:
    from soliloquy.recipes.scaffold.evaluate.dialogues import DialogueCase
    from soliloquy.recipes.scaffold.evaluate.evaluator import ScoredDialogue

_RECIPE = "scaffold"
# Problems to try for each suitable one.
_TRIED = 40
_TUTORS = ("planned", "plain")


@click.command()
@click.option("--tutor", type=click.Choice(_TUTORS), default="planned", show_default=True, help="How the model tutors.")
@count_option("--dialogues", 300, "Dialogues to hold with each of the two students.")
@click.option(
    "--segments", default=210, show_default=True, type=click.IntRange(min=0), help="Segments to give one reply to."
)
@click.option(
    "--tries", default=8, show_default=True, type=click.IntRange(min=0), help="Tries of the student at each problem."
)
@click.option("--judge", type=EXISTING_FILE, metavar="FILE", help="Model settings; their planner judges.")
@click.option(
    "--student",
    type=EXISTING_FILE,
    metavar="FILE",
    help="Model settings; their student solves problems.  [default: scripted]",
)
@problems_option("arithmetic")
@question_options
@report_options
@tutor_options
@click.pass_context
def scaffold(
    context: click.Context,
    /,
    *,
    tutor: str,
    dialogues: int,
    segments: int,
    tries: int,
    judge: Path | None,
    student: Path | None,
    problems: str,
    seed: int,
    datasets: Sequence[Path],
    name: str | None,
    in_flight: int,
    model_cache: Path | None,
    out: Path,
    as_json: bool,
    quiet: bool,
    **model: Any,
) -> None:
    """Evaluate a tutor in the dimensions of the ScaffoldLM paper.

    The tutor holds dialogues with a cooperative student, who understands everything, and with a mixed one, who is also
    confused or off the topic. It also replies to single segments, which end with an answer or a question. --tutor
    planned makes a plan from the problem and follows it as the recipe does; --tutor plain is told once how to tutor.
    A --judge decides what no rule can; without one those dimensions are reported as not measured.
    """
    from soliloquy.recipes.scaffold.evaluate.dialogues import cases_digest, is_suitable, make_cases
    from soliloquy.recipes.scaffold.evaluate.figures import PAPER, TITLES, WHOSE, figures
    from soliloquy.recipes.scaffold.evaluate.judging import TEMPLATES
    from soliloquy.recipes.scaffold.evaluate.page import page
    from training.evaluation.recipe_loop import adapter_digests

    chosen = chosen_tutor(context, problems=problems, cache=model_cache, **model)
    engines = {endpoint.engine for endpoint in chosen.models.used.values()}
    if tutor == "plain" and chosen.weights is None and "scripted" in engines:
        raise click.UsageError("--tutor plain cannot be used with the scripted model: choose another --model")
    source, questions = held_out(problems, seed=seed, trained=datasets)
    wanted = list(islice(filter(is_suitable, islice(questions, _TRIED * dialogues)), dialogues))
    if len(wanted) < dialogues:
        raise Failure(f"only {len(wanted)} of {dialogues} problems are suitable: use fewer --dialogues")
    cases = list(make_cases(wanted, segments=segments, seed=seed))
    others = {role: _read(file) for role, file in (("judge", judge), ("student", student))}
    prompts = fingerprints(_RECIPE) | TEMPLATES.fingerprints()
    results = run_evaluation(_evaluate(cases, chosen, tutor, others, tries, in_flight, quiet=quiet or as_json))
    report = {
        "protocol": _RECIPE,
        "name": name or (chosen.name if tutor == "planned" else f"{chosen.name}, {tutor}"),
        "tutor": tutor,
        "model": chosen.identity(),
        "adapters": sorted(adapter_digests(call for result in results for call in result.calls)),
        **{role: models.identity() if models else None for role, models in others.items()},
        "cases": {
            "put": f"{dialogues} dialogues of each pass and {segments} segments of `{problems}`, seed {seed}",
            "problems": problems,
            "problems_sha256": source.digest,
            "dialogues": dialogues,
            "segments": segments,
            "tries": tries,
            "seed": seed,
            "sha256": cases_digest(cases),
            "problem_ids": sorted({case.problem.id for case in cases}),
        },
        "prompts_sha256": prompts,
        "titles": TITLES,
        "figures": figures(results),
        "paper": PAPER,
        "whose": WHOSE,
    }
    deliver(
        out,
        report,
        results,
        page(report, results),
        tables=[figures_table(report, TITLES)],
        as_json=as_json,
        quiet=quiet,
    )


async def _evaluate(
    cases: "Sequence[DialogueCase]",
    chosen: Tutor,
    kind: str,
    others: Mapping[str, Models | None],
    tries: int,
    in_flight: int,
    *,
    quiet: bool,
) -> "list[ScoredDialogue]":
    from soliloquy.recipes.scaffold.evaluate.evaluator import Evaluator
    from soliloquy.recipes.scaffold.evaluate.judging import RubricJudge
    from soliloquy.recipes.scaffold.evaluate.tutors import TUTORS
    from training.evaluation.recipe_loop import RecipeLoop

    def scripted() -> StreamingModel:
        return scripted_model(ModelSettings(problems=[chosen.problems]))

    async with AsyncExitStack() as resources:
        answering = await resources.enter_async_context(chosen.running())
        execute = await resources.enter_async_context(sandboxed())
        asked: dict[str, Model] = {
            role: await resources.enter_async_context(open_models(models, scripted, None))
            for role, models in others.items()
            if models
        }
        loop = RecipeLoop(recipe=find(_RECIPE), model=answering, execute=execute)
        evaluator = Evaluator(
            tutor=lambda case: TUTORS[kind](case, loop),
            judge=RubricJudge(asked["judge"]) if "judge" in asked else None,
            student=asked.get("student") or scripted(),
            tries=tries,
        )
        broken = 0
        with CaseProgress(answering, cases=len(cases), quiet=quiet) as bar:

            def tell(result: "ScoredDialogue") -> None:
                nonlocal broken
                broken += bool(result.dialogue.broken)
                bar.advance(f"broken off {broken}")

            return await evaluator.all(cases, at_once=in_flight, on_result=tell)


def _read(file: Path | None) -> Models | None:
    with reporting(BadModelSettings):
        return read_models(file) if file else None
