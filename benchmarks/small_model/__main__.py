"""Trains a small tutor from random weights and evaluates it: `python -m benchmarks.small_model --out DIR`.

Every stage is a command that resumes where it was stopped, and a finished stage is skipped. No question of the
evaluation was in the training data.
"""

from collections.abc import Sequence
from pathlib import Path

import yaml

from benchmarks.small_model.stages import begin, options, soliloquy, train, write_config
from soliloquy.recipes.packages import DEFAULT

_SETTINGS = Path(__file__).with_name("small.yaml")
# An answer of the scripted tutor takes fewer.
_MAX_TOKENS = "200"
# Problems drawn for each conversation, of which some fail, and for each question, of which some are unsuitable.
_FOR_A_CONVERSATION = 2
_FOR_A_QUESTION = 8


def make(
    out: Path,
    *,
    settings: Path,
    conversations: int,
    stream: int,
    steps: int,
    tuning_steps: int,
    questions: int,
    seed: int,
) -> None:
    wanted = yaml.safe_load(settings.read_text("utf-8"))
    drawn = [wanted["bank"], *(part for topic in wanted["topics"] for part in ("--topic", topic))]
    # Seeds that differ from each other and from the evaluation's.
    _grow(out / "pretraining", drawn, conversations, seed=1_000_000 + seed)
    _grow(out / "stream", drawn, stream, seed=2_000_000 + seed)
    untrained, pretrained = out / "untrained", out / "pretrained" / "model"
    begin(untrained, out / "pretraining", wanted["shape"], seed=seed)
    config = write_config(out / "pretraining.yaml", wanted["pretraining"], max_steps=steps, seed=seed)
    train("pretrained", config, base=untrained, data=out / "pretraining", out=out)
    tuning = write_config(out / "tuning.yaml", wanted["tuning"], max_steps=tuning_steps, seed=seed)
    train("tuned", tuning, base=pretrained, data=out / "stream", out=out)
    _draw(out / "evaluation", drawn, _FOR_A_QUESTION * questions, seed=seed)
    asked = ["--questions", str(questions), "--seed", str(seed)]
    _evaluate(out, "untrained", untrained, *asked)
    _evaluate(out, "pretrained", pretrained, *asked)
    _evaluate(out, "tuned", pretrained, "--adapter", str(out / "tuned" / "adapter"), *asked)
    judged = [str(out / f"evaluation-{name}") for name in ("untrained", "pretrained", "tuned")]
    soliloquy("evaluate", "compare", *judged, "--out", str(out))


def _draw(out: Path, drawn: Sequence[str], count: int, *, seed: int) -> str:
    """Draws the same problems each time; returns their file."""
    file = str(out.with_suffix(".jsonl"))
    soliloquy("problems", "sample", *drawn, "--count", str(count), "--seed", str(seed), "--out", file)
    return file


def _grow(out: Path, drawn: Sequence[str], count: int, *, seed: int) -> None:
    problems = _draw(out, drawn, _FOR_A_CONVERSATION * count, seed=seed)
    wanted = ["--problems", problems, "--conversations", str(count), "--seed", str(seed)]
    soliloquy("generate", *wanted, "--out", str(out))


def _evaluate(out: Path, name: str, weights: Path, *further: str) -> None:
    """Evaluates free output, without a grammar."""
    folder = out / f"evaluation-{name}"
    if (folder / "report.json").is_file():
        return
    learned = [part for data in ("pretraining", "stream") for part in ("--trained", str(out / data))]
    put = ["--problems", str(out / "evaluation.jsonl"), "--weights", str(weights), *further]
    put += ["--free", "--max-tokens", _MAX_TOKENS, "--name", name]
    soliloquy("evaluate", DEFAULT, *put, *learned, "--out", str(folder))


if __name__ == "__main__":
    make(
        **options(
            "python -m benchmarks.small_model",
            __doc__,
            settings=_SETTINGS,
            conversations=(750, "conversations for the first training"),
            stream=(150, "conversations for tuning the adapter"),
            steps=(3000, "steps of the first training"),
            tuning_steps=(300, "steps of tuning the adapter"),
            questions=(25, "questions of the evaluation"),
        )
    )
