"""A small model made from nothing that learns to write word problems: `python -m training.small.problems --out DIR`.

It learns the form from the scripted writer and makes up its numbers; what met all criteria then teaches it, round after
round. Every stage goes on where it was stopped; one that is done is passed over.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import yaml

from training.small.commands import soliloquy

_SETTINGS = yaml.safe_load(Path(__file__).with_name("problems.yaml").read_text("utf-8"))
# Other problems than those of the rounds.
_SEED = 1_000_000


def make(out: Path, *, problems: int, steps: int, rounds: int, per_round: int, seed: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    examples, models = out / "examples.jsonl", out / "models.toml"
    examples.write_text(json.dumps(_SETTINGS["example"]), "utf-8")
    models.write_text(_SETTINGS["models"], "utf-8")
    asked = ["--any-topic", "--operations", ",".join(_SETTINGS["operations"]), "--examples", str(examples)]
    scripted = ["--n", str(problems), "--seed", str(_SEED + seed), "--out", str(out / "scripted.jsonl")]
    # Of near-duplicates the file keeps one, and so it may have fewer than asked for; the dataset has them all.
    soliloquy("problems", "generate", *scripted, *asked, ends=(0, 1))
    _begin(out, seed)
    if not (out / "pretrained" / "report.json").is_file():
        config = _config(out, "pretraining", max_steps=steps, seed=seed)
        learned = ["--base", str(out / "untrained"), "--data", str(out / "scripted")]
        soliloquy("train", "--config", str(config), *learned, "--name", "pretrained", "--out", str(out))
    wanted = ["--rounds", str(rounds), "--per-round", str(per_round), "--seed", str(seed), "--in-flight", "32"]
    tuned = ["--base", str(out / "pretrained" / "model"), "--config", str(_config(out, "tuning", seed=seed))]
    kept = ["--model-settings", str(models), "--out", str(out / "rounds")]
    soliloquy("problems", "improve", *wanted, *asked, *tuned, *kept)


def _config(out: Path, stage: str, **chosen: int) -> Path:
    config = out / f"{stage}.yaml"
    config.write_text(json.dumps({**_SETTINGS[stage], **chosen}), "utf-8")
    return config


def _begin(out: Path, seed: int) -> None:
    folder = out / "untrained"
    if (folder / "config.json").is_file():
        return
    # What takes seconds to import.
    from soliloquy.recipes.mathwell.prompting import FOLDER
    from training.small.base import make_base
    from training.source import conversations

    parameters = make_base(folder, conversations(str(out / "scripted")), FOLDER, _SETTINGS["shape"], seed=seed)
    print(f"{folder}: {parameters:,} parameters, none of which knows anything")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.small.problems", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--problems", type=int, default=800, help="of the scripted writer, to learn the form from")
    parser.add_argument("--steps", type=int, default=1200, help="of the first training")
    parser.add_argument("--rounds", type=int, default=3, help="of learning from its own problems")
    parser.add_argument("--per-round", type=int, default=100, help="problems that are wanted of each")
    parser.add_argument("--seed", type=int, default=0, help="all draws follow from it")
    make(**vars(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
