"""Trains a small writer of word problems from random weights: `python -m benchmarks.small_model.problems --out DIR`.

It learns the form from the scripted writer, and then in rounds from its own problems that met all criteria. Every stage
resumes where it was stopped, and a finished stage is skipped.
"""

import json
from pathlib import Path

import yaml

from benchmarks.small_model.stages import begin, options, soliloquy, train, write_config

_SETTINGS = yaml.safe_load(Path(__file__).with_name("problems.yaml").read_text("utf-8"))
# Differs from the seeds of the rounds.
_SEED = 1_000_000


def make(out: Path, *, problems: int, steps: int, rounds: int, per_round: int, seed: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    examples, models = out / "examples.jsonl", out / "models.toml"
    examples.write_text(json.dumps(_SETTINGS["example"]), "utf-8")
    models.write_text(_SETTINGS["models"], "utf-8")
    asked = ["--any-topic", "--operations", ",".join(_SETTINGS["operations"]), "--examples", str(examples)]
    if not (written := out / "scripted.jsonl").exists():
        scripted = ["--n", str(problems), "--seed", str(_SEED + seed), "--out", str(written)]
        # The file keeps one of several near-duplicates, so it may hold fewer than requested; the dataset holds all.
        soliloquy("problems", "generate", *scripted, *asked, ends=(0, 1))
    begin(out / "untrained", out / "scripted", _SETTINGS["shape"], seed=seed)
    config = write_config(out / "pretraining.yaml", _SETTINGS["pretraining"], max_steps=steps, seed=seed)
    train("pretrained", config, base=out / "untrained", data=out / "scripted", out=out)
    wanted = ["--rounds", str(rounds), "--per-round", str(per_round), "--seed", str(seed), "--in-flight", "32"]
    tuning = write_config(out / "tuning.yaml", _SETTINGS["tuning"], seed=seed)
    tuned = ["--base", str(out / "pretrained" / "model"), "--config", str(tuning)]
    kept = ["--model-settings", str(models), "--out", str(out / "rounds")]
    soliloquy("problems", "improve", *wanted, *asked, *tuned, *kept)


if __name__ == "__main__":
    make(
        **options(
            "python -m benchmarks.small_model.problems",
            __doc__,
            problems=(800, "problems of the scripted writer for the first training"),
            steps=(1200, "steps of the first training"),
            rounds=(3, "rounds of learning from its own problems"),
            per_round=(100, "problems of each round"),
        )
    )
