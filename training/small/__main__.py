"""Trains a small tutor from random weights and evaluates it: `python -m training.small --out DIR`.

Every stage is a command that resumes where it was stopped, and a finished stage is skipped. No question of the
evaluation was in the training data.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from soliloquy.recipes.recipe import DEFAULT
from training.small.stages import begin, soliloquy, train, write_config

_SETTINGS = yaml.safe_load(Path(__file__).with_name("small.yaml").read_text("utf-8"))
# An answer of the scripted tutor takes fewer.
_MAX_TOKENS = "200"
# Problems drawn for each conversation, of which some fail, and for each question, of which some are unsuitable.
_FOR_A_CONVERSATION = 2
_FOR_A_QUESTION = 8


@dataclass(frozen=True, kw_only=True)
class SmallModel:
    out: Path
    conversations: int
    stream: int
    steps: int
    tuning_steps: int
    questions: int
    seed: int

    def run(self) -> None:
        # Seeds that differ from each other and from the evaluation's.
        self._grow("pretraining", self.conversations, seed=1_000_000 + self.seed)
        self._grow("stream", self.stream, seed=2_000_000 + self.seed)
        untrained = self.out / "untrained"
        begin(untrained, self.out / "pretraining", _SETTINGS["shape"], seed=self.seed)
        self._train("pretrained", "pretraining", untrained, self.out / "pretraining", self.steps)
        pretrained = self.out / "pretrained" / "model"
        self._train("tuned", "tuning", pretrained, self.out / "stream", self.tuning_steps)
        self._draw("evaluation", _FOR_A_QUESTION * self.questions, seed=self.seed)
        self._evaluate("untrained", untrained)
        self._evaluate("pretrained", pretrained)
        self._evaluate("tuned", pretrained, "--adapter", str(self.out / "tuned" / "adapter"))
        judged = [str(self.out / f"evaluation-{name}") for name in ("untrained", "pretrained", "tuned")]
        soliloquy("evaluate", "compare", *judged, "--out", str(self.out))

    def _problems(self, name: str) -> Path:
        return self.out / f"{name}.jsonl"

    def _draw(self, name: str, count: int, *, seed: int) -> None:
        """Draws the same problems each time."""
        topics = [part for topic in _SETTINGS["topics"] for part in ("--topic", topic)]
        wanted = ["--count", str(count), "--seed", str(seed), *topics, "--out", str(self._problems(name))]
        soliloquy("problems", "sample", _SETTINGS["bank"], *wanted)

    def _grow(self, name: str, count: int, *, seed: int) -> None:
        self._draw(name, _FOR_A_CONVERSATION * count, seed=seed)
        wanted = ["--problems", str(self._problems(name)), "--conversations", str(count), "--seed", str(seed)]
        soliloquy("generate", *wanted, "--out", str(self.out / name))

    def _train(self, name: str, settings: str, base: Path, data: Path, steps: int) -> None:
        path = self.out / f"{settings}.yaml"
        config = write_config(path, _SETTINGS[settings], max_steps=steps, seed=self.seed)
        train(name, config, base=base, data=data, out=self.out)

    def _evaluate(self, name: str, weights: Path, *adapter: str) -> None:
        """Evaluates free output, without a grammar."""
        out = self.out / f"evaluation-{name}"
        if (out / "report.json").is_file():
            return
        learned = [part for data in ("pretraining", "stream") for part in ("--trained", str(self.out / data))]
        questions = ["--questions", str(self.questions), "--seed", str(self.seed)]
        put = ["--problems", str(self._problems("evaluation")), *questions]
        put += ["--weights", str(weights), *adapter, "--free", "--max-tokens", _MAX_TOKENS, "--name", name]
        soliloquy("evaluate", DEFAULT, *put, *learned, "--out", str(out))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.small", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for all results")
    parser.add_argument("--conversations", type=int, default=750, help="conversations for the first training")
    parser.add_argument("--stream", type=int, default=150, help="conversations for tuning the adapter")
    parser.add_argument("--steps", type=int, default=3000, help="steps of the first training")
    parser.add_argument("--tuning-steps", type=int, default=300, help="steps of tuning the adapter")
    parser.add_argument("--questions", type=int, default=25, help="questions of the evaluation")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random draws")
    SmallModel(**vars(parser.parse_args(arguments))).run()


if __name__ == "__main__":
    main()
