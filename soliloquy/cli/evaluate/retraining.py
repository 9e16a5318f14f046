"""What a recipe offers as RETRAINING in its `evaluate.retraining`, so that its tutor's adapter can be retrained."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.recipes.packages import part
from soliloquy.runs.failure import Failure


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrainingEvaluation:
    """Decides whether a version of an adapter is worse than another."""

    # The title of each metric; the report has a share of cases for each.
    metrics: Mapping[str, str]
    # Where the questions come from and by how much each metric may fall, unless the policy says otherwise.
    problems: str
    may_lose: Mapping[str, float]
    # Asks this number of questions.
    evaluate: Callable[[EvaluationSettings, int], Evaluated]


def retraining_evaluation(recipe: str) -> RetrainingEvaluation:
    offered = part(recipe, "evaluate") and part(recipe, "evaluate.retraining")
    if offered is None:
        raise Failure(f"the recipe {recipe} cannot be retrained: it has no evaluation that compares two adapters")
    evaluation = offered.RETRAINING
    assert isinstance(evaluation, RetrainingEvaluation)
    return evaluation
