"""The settings of every evaluation, and its run over cases or over whole conversations."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

from soliloquy.cli.attended import attended, run_counted
from soliloquy.cli.command import setting
from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.cli.evaluate.tutor import Tutor
from soliloquy.cli.options import Choice
from soliloquy.cli.service_options import chosen_prompts
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.tables import plain, table
from soliloquy.problems.bank.bank import Bank, load_bank
from soliloquy.problems.bank.sampling import sample
from soliloquy.problems.sources import ProblemSource, problem_source
from soliloquy.recipes.packages import DEFAULT, known_recipes, part
from soliloquy.recipes.recipe import find
from soliloquy.runs.dry_run import own_sandboxes
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import StreamingModel
from soliloquy.runtime.model.opening import ModelByRole
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, Problem
from soliloquy.v1.runs_pb2 import Run

if TYPE_CHECKING:
    from soliloquy_training.adapters.activation import Canary
    from soliloquy_training.evaluation.cases import CaseResult
    from soliloquy_training.evaluation.recipe_loop import Execute, RecipeLoop

C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationSettings:
    tutor: Tutor
    seed: int
    in_flight: int
    # Questions of these datasets are left out.
    trained: Sequence[Path] = ()
    # The name in the report; by default that of the tutor.
    name: str | None = None
    # The folder of prompts that the tutor has in place of the recipe's own.
    prompts: Path | None = None
    quiet: bool = False

    def changed_prompts(self, recipe: str) -> Mapping[str, str]:
        return chosen_prompts(recipe, self.prompts)

    def held_out(self) -> tuple[ProblemSource, Iterator[Problem]]:
        """Returns the source of the problems, and the problems that the tutor was not trained on; raises Failure."""
        source = problem_source(self.tutor.problems)
        learned = {conversation.problem.id for folder in self.trained for conversation in Dataset(folder)}
        return source, questions(source, seed=self.seed, learned=learned)

    def scripted(self) -> StreamingModel:
        """Returns the scripted model, which knows the problems and makes no noise."""
        return scripted_model(ModelSettings(problems=[self.tutor.problems]))

    @asynccontextmanager
    async def running(
        self, recipe: str, sandbox: "AbstractAsyncContextManager[Execute] | None" = None
    ) -> "AsyncIterator[tuple[ModelByRole, RecipeLoop]]":
        """Runs the tutor's model, and the recipe with it; without another sandbox, programs run as in the executor."""
        from soliloquy_training.evaluation.recipe_loop import RecipeLoop

        find(recipe).fingerprints(changed := self.changed_prompts(recipe))
        async with (
            self.tutor.running() as model,
            sandbox or _sandboxed() as execute,
            attended(model, wait=self.tutor.wait),
        ):
            yield model, RecipeLoop(recipe=find(recipe), model=model, execute=execute, prompts=changed)

    async def run(
        self,
        model: ModelByRole,
        cases: Sequence[C],
        run: Callable[[C], Awaitable[R]],
        *,
        counted: str,
        counts: Callable[[R], bool],
    ) -> list[R]:
        """Returns the results in order; shows how many count, and why the tutor's model does not answer."""
        return await run_counted(
            model,
            cases,
            run,
            "cases",
            in_flight=self.in_flight,
            wait=self.tutor.wait,
            quiet=self.quiet,
            figures=lambda results: [f"{counted} {sum(map(counts, results))}"],
        )

    def cases(
        self, source: ProblemSource, put: str, problems: Iterable[Problem], digest: str, **further: Any
    ) -> dict[str, Any]:
        """Describes cases for the report; `put` says how many of what."""
        return {
            "put": f"{put} {self.tutor.problems}, seed {self.seed}",
            "problems": self.tutor.problems,
            "problems_sha256": source.digest,
            "seed": self.seed,
            **further,
            "sha256": digest,
            "problem_ids": sorted({problem.id for problem in problems}),
        }

    def report(
        self,
        recipe: str,
        results: "Sequence[CaseResult]",
        *,
        cases: Mapping[str, Any],
        name: str = "",
        prompts: dict[str, str] | None = None,
        **content: Any,
    ) -> dict[str, Any]:
        """Returns the report in the form that `training/evaluation/report.py` describes; raises Failure.

        `name` is that of a tutor that is not the model alone, `prompts` are digests of prompts beside the recipe's.
        """
        from soliloquy_training.evaluation.cases import adapter_digests

        return {
            "protocol": recipe,
            "name": self.name or name or self.tutor.name,
            "model": self.tutor.identity(),
            "adapters": adapter_digests(results),
            "cases": cases,
            "prompts_sha256": find(recipe).fingerprints(self.changed_prompts(recipe)) | (prompts or {}),
            **content,
        }


def questions(source: ProblemSource, *, seed: int, learned: Collection[str]) -> Iterator[Problem]:
    """Yields a bank's questions over all topics and families, or those of a file in random order."""
    drawn = _of_bank(source, seed) if isinstance(source, Bank) else _of_file(source, seed)
    return (problem for problem in drawn if problem.id not in learned)


def _of_bank(bank: Bank, seed: int) -> Iterator[Problem]:
    return (bank.family(name).problem(number) for name, number in sample(bank, seed))


def _of_file(source: ProblemSource, seed: int) -> Iterable[Problem]:
    places = range(source.count or 0)
    order = draw(seed, "questions").sample(places, len(places))
    return (source.problem(seed, place) for place in order)


@asynccontextmanager
async def _sandboxed() -> "AsyncIterator[Execute]":
    from soliloquy_services.executor.handler import run

    async with own_sandboxes() as pool:
        yield partial(run, sandbox=pool)


# Returns whether each metric holds of a finished conversation.
JudgeConversation = Callable[[Conversation], Mapping[str, bool]]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedConversation:
    conversation: Conversation
    passed: Mapping[str, bool]

    @property
    def calls(self) -> Sequence[ModelCall]:
        return [call for turn in self.conversation.turns for call in turn.calls if call.role != "student"]

    def as_json(self) -> dict[str, Any]:
        return {"case": self.conversation.id, "passed": dict(self.passed), "ended": self.conversation.ending_reason}


def evaluate_conversations(
    settings: EvaluationSettings,
    recipe: str,
    judge: JudgeConversation,
    *,
    titles: Mapping[str, str],
    cases: int,
    max_turns: int,
) -> Evaluated:
    """Has the tutor hold a conversation about each of the first problems; `titles` names the metrics."""
    from soliloquy_training.evaluation.cases import digest_of, parse_figures, share_of
    from soliloquy_training.evaluation.report import figure_rows

    source, problems = settings.held_out()
    wanted = list(islice(problems, cases))
    run = Run(recipe=recipe, seed=settings.seed, max_turns=max_turns)
    results = uvloop.run(_hold(settings, run, judge, wanted))
    metrics = {name: share_of(result.passed[name] for result in results) for name in titles}
    drawn = digest_of([problem.id for problem in wanted])
    report = settings.report(
        recipe,
        results,
        cases=settings.cases(source, f"{len(wanted)} conversations about problems of", wanted, drawn),
        titles=titles,
        figures={"metrics": metrics, "measures": {}, **parse_figures(results)},
        paper={},
        whose="",
    )
    page = [f"# {recipe} with {plain(report['name'])}", "", table(["", "share", ""], figure_rows(report, titles))]
    return Evaluated(report=report, results=results, page=page, tables=[figures_table(report, titles)])


async def _hold(
    settings: EvaluationSettings, run: Run, judge: JudgeConversation, problems: Sequence[Problem]
) -> list[JudgedConversation]:
    async with settings.running(run.recipe) as (model, loop):

        async def hold(problem: Problem) -> JudgedConversation:
            begun = Conversation(id=problem.id, run=run, problem=problem)
            held = await loop.hold(begun, enough=lambda _: False)
            return JudgedConversation(conversation=held, passed=judge(held))

        return await settings.run(model, problems, hold, counted="passed", counts=lambda one: all(one.passed.values()))


RECIPE = setting(
    "The recipe of the tutor; its evaluation and prompts test an adapter.",
    "--recipe",
    default=DEFAULT,
    type=Choice(list(known_recipes())),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrainingEvaluation:
    """Decides whether an adapter is worse than another; a recipe offers it as RETRAINING in `evaluate.retraining`."""

    # The title of each metric; the report has a share of cases for each.
    metrics: Mapping[str, str]
    # The source of the questions and the fall that each metric may have, unless the policy says otherwise.
    problems: str
    may_lose: Mapping[str, float]
    # Asks this number of questions.
    evaluate: Callable[[EvaluationSettings, int], Evaluated]
    # Yields prompts of the tutor about a problem, which an adapter answers before it goes into service.
    canaries: "Callable[[Problem], Iterable[Canary]]"

    def canary_prompts(self, count: int) -> "list[Canary]":
        bank = load_bank(self.problems)
        found = (canary for number in range(count) for canary in self.canaries(bank.draw(number)))
        return list(islice(found, count))


def retraining_evaluation(recipe: str) -> RetrainingEvaluation:
    offered = part(recipe, "evaluate.retraining")
    if offered is None:
        raise Failure(f"the recipe {recipe} cannot be retrained: it has no evaluation that compares two adapters")
    evaluation = offered.RETRAINING
    assert isinstance(evaluation, RetrainingEvaluation)
    return evaluation
