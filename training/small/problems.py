"""Trains a small model from random weights to write word problems: `python -m training.small.problems --out DIR`.

It learns the form from the scripted writer, and then in rounds from its own problems that met all criteria. Every stage
resumes where it was stopped, and a finished stage is skipped.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import yaml

from training.small.stages import begin, soliloquy, train, write_config

_SETTINGS = yaml.safe_load(Path(__file__).with_name("problems.yaml").read_text("utf-8"))
# Differs from the seeds of the rounds.
_SEED = 1_000_000


def make(out: Path, *, problems: int, steps: int, rounds: int, per_round: int, seed: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    examples, models = out / "examples.jsonl", out / "models.toml"
    examples.write_text(json.dumps(_SETTINGS["example"]), "utf-8")
    models.write_text(_SETTINGS["models"], "utf-8")
    asked = ["--any-topic", "--operations", ",".join(_SETTINGS["operations"]), "--examples", str(examples)]
    scripted = ["--n", str(problems), "--seed", str(_SEED + seed), "--out", str(out / "scripted.jsonl")]
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.small.problems", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for all results")
    parser.add_argument(
        "--problems", type=int, default=800, help="problems of the scripted writer for the first training"
    )
    parser.add_argument("--steps", type=int, default=1200, help="steps of the first training")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of learning from its own problems")
    parser.add_argument("--per-round", type=int, default=100, help="problems of each round")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random draws")
    make(**vars(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
