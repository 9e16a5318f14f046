"""How the versions of a tutor's adapter are compared: by the paper's metrics, on questions about physics."""

from soliloquy.cli.evaluate.retraining import RetrainingEvaluation
from soliloquy.recipes.soliloquy.evaluate.canaries import canaries
from soliloquy.recipes.soliloquy.evaluate.evaluation import evaluate
from soliloquy.recipes.soliloquy.evaluate.judging import METRICS

RETRAINING = RetrainingEvaluation(
    metrics=METRICS,
    problems="physics",
    # 0.04 are two of 50 cases.
    may_lose={"usage": 0.04, "non_usage": 0.04, "compilation": 0.04, "verification": 0.02},
    evaluate=evaluate,
    canaries=canaries,
)
