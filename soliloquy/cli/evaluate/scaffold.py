"""`soliloquy evaluate scaffold`."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import click

from soliloquy.cli.evaluate.delivering import deliver, figures_table
from soliloquy.cli.evaluate.options import problems_option, put_options, report_options, tutor_options
from soliloquy.cli.evaluate.questions import held_out
from soliloquy.cli.evaluate.running import Bar, completed, fingerprints, sandboxed
from soliloquy.cli.evaluate.tutor import Tutor, chosen_tutor
from soliloquy.recipes.recipe import find
from soliloquy.runs.failure import Failure
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.model import Model, StreamingModel
from soliloquy.runtime.model.opening import opened
from soliloquy.runtime.model.settings import BadModelSettings, Models, read_models
from training.evaluation.recipe_loop import RecipeLoop, adapter_digests
from training.evaluation.scaffold.dialogues import DialogueCase, cases_digest, is_suitable, make_cases
from training.evaluation.scaffold.evaluator import Evaluator, ScoredDialogue
from training.evaluation.scaffold.figures import PAPER, TITLES, WHOSE, figures
from training.evaluation.scaffold.judging import TEMPLATES, Judge
from training.evaluation.scaffold.page import page
from training.evaluation.scaffold.tutors import TUTORS

_RECIPE = "scaffold"
# Problems looked at for each that is put.
_LOOKED_AT = 40
_SETTINGS = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.option("--tutor", type=click.Choice(list(TUTORS)), default="planned", show_default=True, help="How it tutors.")
@click.option("--dialogues", default=300, show_default=True, type=click.IntRange(min=1), help="Of each of both passes.")
@click.option("--segments", default=210, show_default=True, type=click.IntRange(min=0), help="To give one reply to.")
@click.option("--tries", default=8, show_default=True, type=click.IntRange(min=0), help="Of the student, at a problem.")
@click.option("--judge", type=_SETTINGS, metavar="FILE", help="Model settings: their planner judges what no rule can.")
@click.option(
    "--student", type=_SETTINGS, metavar="FILE", help="Model settings: their student solves; else a fake one."
)
@problems_option("arithmetic")
@put_options
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
    """Hold dialogues with a student whose states are drawn, and score the tutor in the ScaffoldLM paper's dimensions.

    A cooperative student understands everything; a mixed one is confused or off the topic too. Segments end with an
    answer or a question to reply to. --tutor planned plans by itself, from the problem alone, and keeps track as the
    recipe does; --tutor plain is a model that is told once how to tutor. What no rule can judge is judged by --judge,
    or reported as not measured.
    """
    chosen = chosen_tutor(context, problems=problems, cache=model_cache, **model)
    engines = {endpoint.engine for endpoint in chosen.models.used.values()}
    if tutor == "plain" and chosen.weights is None and "scripted" in engines:
        raise click.UsageError("--tutor plain: the scripted model tutors by a plan only: name another --model")
    source, questions = held_out(problems, seed=seed, trained=datasets)
    wanted = list(islice(filter(is_suitable, islice(questions, _LOOKED_AT * dialogues)), dialogues))
    if len(wanted) < dialogues:
        raise Failure(f"only {len(wanted)} of {dialogues} problems can be put: ask for fewer --dialogues")
    cases = list(make_cases(wanted, segments=segments, seed=seed))
    others = {role: _read(file) for role, file in (("judge", judge), ("student", student))}
    prompts = fingerprints(_RECIPE) | TEMPLATES.fingerprints()
    results = completed(_evaluated(cases, chosen, tutor, others, tries, in_flight, quiet=quiet or as_json))
    report = {
        "protocol": _RECIPE,
        "name": name or (chosen.name if tutor == "planned" else f"{chosen.name}, {tutor}"),
        "tutor": tutor,
        "model": chosen.identity(),
        "adapters": sorted(frozenset[str]().union(*(adapter_digests(result.calls) for result in results))),
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


async def _evaluated(
    cases: Sequence[DialogueCase],
    chosen: Tutor,
    kind: str,
    others: Mapping[str, Models | None],
    tries: int,
    in_flight: int,
    *,
    quiet: bool,
) -> list[ScoredDialogue]:
    def scripted() -> StreamingModel:
        return scripted_model(ModelSettings(problems=[chosen.problems]))

    async with AsyncExitStack() as at_hand:
        answering = await at_hand.enter_async_context(chosen.answering())
        execute = await at_hand.enter_async_context(sandboxed())
        asked: dict[str, Model] = {
            role: await at_hand.enter_async_context(opened(models, scripted, None))
            for role, models in others.items()
            if models
        }
        tutoring = RecipeLoop(recipe=find(_RECIPE), model=answering, execute=execute)
        putting = Evaluator(
            tutor=lambda case: TUTORS[kind](case, tutoring),
            judge=Judge(asked["judge"]) if "judge" in asked else None,
            student=asked.get("student") or scripted(),
            tries=tries,
        )
        broken = 0
        with Bar(answering, of=len(cases), quiet=quiet) as bar:

            def tell(result: ScoredDialogue) -> None:
                nonlocal broken
                broken += bool(result.dialogue.broken)
                bar.tell(f"broken off {broken}")

            return await putting.all(cases, at_once=in_flight, tell=tell)


def _read(file: Path | None) -> Models | None:
    try:
        return read_models(file) if file else None
    except BadModelSettings as error:
        raise Failure(str(error)) from error
