"""Evaluates a tutor by whole conversations with a recipe's student, each judged by rules of the recipe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import uvloop

from soliloquy.cli.evaluate.output import Evaluated, figures_table
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, Problem
from soliloquy.v1.runs_pb2 import Run

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
    from soliloquy_training.evaluation.report import figure_rows, table

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
    page = [f"# {recipe} with {report['name']}", "", *table(["", "share", ""], figure_rows(report, titles))]
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
