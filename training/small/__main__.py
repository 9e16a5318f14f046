"""Makes a small model from nothing and shows what it has learned: `python -m training.small --out DIR`.

Every stage is a command of its own, which goes on where it was stopped; a stage that is done is passed over. No
question that is put in the end was in anything that was learned.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from training.small.commands import soliloquy

_SETTINGS = yaml.safe_load(Path(__file__).with_name("small.yaml").read_text("utf-8"))
# An answer of the scripted tutor takes fewer.
_MAX_TOKENS = "200"
# Problems drawn for each conversation, since one may be given up, and for each question, since not all can be put.
_FOR_A_CONVERSATION = 2
_FOR_A_QUESTION = 8


@dataclass(frozen=True, kw_only=True)
class Making:
    out: Path
    conversations: int
    stream: int
    steps: int
    tuning_steps: int
    questions: int
    seed: int

    def run(self) -> None:
        # Other seeds than each other's and the evaluation's.
        self._grow("pretraining", self.conversations, seed=1_000_000 + self.seed)
        self._grow("stream", self.stream, seed=2_000_000 + self.seed)
        self._begin()
        self._train("pretrained", "pretraining", self.out / "untrained", self.out / "pretraining", self.steps)
        pretrained = self.out / "pretrained" / "model"
        self._train("tuned", "tuning", pretrained, self.out / "stream", self.tuning_steps)
        self._draw("evaluation", _FOR_A_QUESTION * self.questions, seed=self.seed)
        self._evaluate("untrained", self.out / "untrained")
        self._evaluate("pretrained", pretrained)
        self._evaluate("tuned", pretrained, "--adapter", str(self.out / "tuned" / "adapter"))
        judged = [str(self.out / f"higgs-{name}") for name in ("untrained", "pretrained", "tuned")]
        soliloquy("evaluate", "compare", *judged, "--out", str(self.out))

    def _problems(self, name: str) -> Path:
        return self.out / f"{name}.jsonl"

    def _draw(self, name: str, count: int, *, seed: int) -> None:
        """Each time the same, and so the same file."""
        topics = [part for topic in _SETTINGS["topics"] for part in ("--topic", topic)]
        wanted = ["--count", str(count), "--seed", str(seed), *topics, "--out", str(self._problems(name))]
        soliloquy("problems", "sample", _SETTINGS["bank"], *wanted)

    def _grow(self, name: str, count: int, *, seed: int) -> None:
        self._draw(name, _FOR_A_CONVERSATION * count, seed=seed)
        wanted = ["--problems", str(self._problems(name)), "--conversations", str(count), "--seed", str(seed)]
        soliloquy("generate", *wanted, "--out", str(self.out / name))

    def _begin(self) -> None:
        folder = self.out / "untrained"
        if (folder / "config.json").is_file():
            return
        # What takes seconds to import.
        from soliloquy.recipes.soliloquy.prompting import FOLDER
        from training.small.base import make_base
        from training.source import conversations

        read = conversations(str(self.out / "pretraining"))
        parameters = make_base(folder, read, FOLDER, _SETTINGS["shape"], seed=self.seed)
        print(f"{folder}: {parameters:,} parameters, none of which knows anything")

    def _train(self, name: str, settings: str, base: Path, data: Path, steps: int) -> None:
        if (self.out / name / "report.json").is_file():
            return
        config = self.out / f"{settings}.yaml"
        chosen: dict[str, Any] = {**_SETTINGS[settings], "max_steps": steps, "seed": self.seed}
        config.write_text(json.dumps(chosen), "utf-8")
        where = ["--base", str(base), "--data", str(data), "--name", name, "--out", str(self.out)]
        soliloquy("train", "--config", str(config), *where)

    def _evaluate(self, name: str, weights: Path, *adapter: str) -> None:
        """Free: what it writes of its own accord, not what a grammar lets through."""
        out = self.out / f"higgs-{name}"
        if (out / "report.json").is_file():
            return
        learned = [part for data in ("pretraining", "stream") for part in ("--trained", str(self.out / data))]
        put = [
            "--problems",
            str(self._problems("evaluation")),
            "--questions",
            str(self.questions),
            "--seed",
            str(self.seed),
        ]
        put += ["--weights", str(weights), *adapter, "--free", "--max-tokens", _MAX_TOKENS, "--name", name]
        soliloquy("evaluate", "higgs", *put, *learned, "--out", str(out))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.small", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--conversations", type=int, default=750, help="to learn from at first")
    parser.add_argument("--stream", type=int, default=150, help="to tune an adapter on")
    parser.add_argument("--steps", type=int, default=3000, help="of the first training")
    parser.add_argument("--tuning-steps", type=int, default=300, help="of the adapter's")
    parser.add_argument("--questions", type=int, default=25, help="to be put in the end")
    parser.add_argument("--seed", type=int, default=0, help="all draws follow from it")
    Making(**vars(parser.parse_args(arguments))).run()


if __name__ == "__main__":
    main()
