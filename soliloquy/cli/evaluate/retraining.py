"""Defines RETRAINING, which a recipe offers in `evaluate.retraining` so that its tutor's adapter can be retrained."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from soliloquy.cli.command import setting
from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.parameters import Choice
from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.packages import DEFAULT, known_recipes, part
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Problem

if TYPE_CHECKING:
    from soliloquy_training.adapters.activation import Canary

RECIPE = setting(
    "The recipe of the tutor; its evaluation and prompts test an adapter.",
    "--recipe",
    default=DEFAULT,
    type=Choice(list(known_recipes())),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrainingEvaluation:
    """Decides whether a version of an adapter is worse than another."""

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
