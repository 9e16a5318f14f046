"""MATHWELL's second tuning goes on from the adapter of the first one, on rows that people approved."""

import csv
from pathlib import Path

from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy_papers import mathwell
from soliloquy_training.folder import Job
from soliloquy_training.settings import read_settings
from soliloquy_training.step_log import steps
from tests.integration.training.processes import train

CONFIGS = Path(mathwell.__file__).with_name("configs")
PAINT = "def solution():\n    cans = {}\n    liters = 4\n    return cans * liters"
# What needs a GPU, and what takes days.
HERE = {"quantize": "none", "max_steps": 2, "warmup_share": 0.0, "validate_every": 1, "checkpoint_every": 1}


def stage(config: str, base: Path, data: Path, folder: Path, adapter: Path | None = None) -> float:
    """Trains as the recipe's configuration says, and returns the loss of the first step."""
    settings = read_settings(CONFIGS / f"{config}.yaml").model_copy(update=HERE)
    train(Job(settings=settings, base=base, data=str(data), folder=folder, adapter=adapter))
    return float(steps(folder / "metrics.jsonl")[0]["loss"])


def test_the_second_stage_goes_on_from_the_adapter_of_the_first(base: Path, tmp_path: Path) -> None:
    approved, data = tmp_path / "approved.csv", tmp_path / "approved"
    with approved.open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, ["question", "solution", "answer", "topic"])
        rows.writeheader()
        for cans in range(2, 22):
            question = f"Ana buys {cans} cans of paint with 4 liters each. How many liters of paint does she have?"
            rows.writerow({"question": question, "solution": PAINT.format(cans), "answer": 4 * cans, "topic": "paint"})
    done = CliRunner().invoke(commands, ["import", str(approved), "--format", "sgsm", "--out", str(data)])
    assert done.exit_code == 0, done.output
    before = stage("mathwell", base, data, tmp_path / "first")
    after = stage("mathwell-approved", base, data, tmp_path / "second", adapter=tmp_path / "first" / "adapter")
    assert after < before
