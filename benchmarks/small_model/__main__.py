"""Tunes a pretrained model to tutor, by conversations and by rewards: `python -m benchmarks.small_model --out DIR`."""

import json
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import yaml

from benchmarks.pretrained import SMOLLM2, folder_of_smollm2
from benchmarks.real_servers import by_the_model_service
from benchmarks.small_model.stages import soliloquy, train, write_config
from soliloquy.cli.generate import INCOMPLETE
from soliloquy.recipes.packages import DEFAULT

_SETTINGS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("tutor.yaml").read_text("utf-8"))
# An answer of the scripted tutor takes fewer.
_MAX_TOKENS = "300"
# Problems drawn for each conversation, of which some fail, and for each question, of which some are unsuitable.
_FOR_A_CONVERSATION, _FOR_A_QUESTION = 2, 8
# Seeds that differ from each other.
_SEED_OF_DATA, _SEED_OF_QUESTIONS = 1, 2
# A turn of two small models takes a minute of a slow core.
_MAX_TURNS = "6"
# One state of each conversation, since each continuation takes as long as a turn.
_FORKED = ("--turn", "2", "--state", "replying", "--samples", "4", "--in-flight", "4")
_ANSWER_SECONDS = 900


@click.command()
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder of all results.")
@click.option("--base", type=click.Path(exists=True, path_type=Path), help="Other weights.  [default: SmolLM2-135M]")
@click.option("--conversations", "steps", multiple=True, type=int, default=(20, 60), show_default=True)
@click.option("--questions", default=25, show_default=True, help="Questions of the evaluation, two cases each.")
@click.option("--play", default=5, show_default=True, help="Conversations that base and tuned model play.")
@click.option("--tune", type=click.Choice(["lora", "full"]), default="lora", show_default=True)
@click.option("--max-steps", type=int, help="Steps of each training at most.")
@click.option(
    "--forks", default=0, help="Conversations that the tuned model forks, to learn from preferences, then rewards."
)
def main(
    *,
    out: Path,
    base: Path | None,
    steps: Sequence[int],
    questions: int,
    play: int,
    tune: str,
    max_steps: int | None,
    forks: int,
) -> None:
    """Evaluate a pretrained model as a tutor, tune it on each number of conversations, and evaluate it again.

    With --forks, the last tuned model then learns by DPO from continuations that computed rewards tell apart, and by
    GRPO from the rewards of episodes, and each is evaluated.

    Every stage is a command that resumes where it was stopped, and a finished stage is skipped. The questions come from
    topics that no training has.
    """
    # The server ends with this command.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    out.mkdir(parents=True, exist_ok=True)
    base = base or folder_of_smollm2(out / SMOLLM2)
    tuning = _SETTINGS["tuning"] | {"tune": tune} | ({"max_steps": max_steps} if max_steps else {})
    config = write_config(out / "tuning.yaml", tuning)
    asked = _draw(out / "asked", _SETTINGS["asked"], _FOR_A_QUESTION * questions, _SEED_OF_QUESTIONS)
    put = ["--problems", asked, "--questions", str(questions), "--max-tokens", _MAX_TOKENS]
    _evaluate(out, "base", base, None, *put)
    for count in steps:
        data, name = out / f"conversations-{count}", f"tuned-{count}"
        problems = _draw(data, _SETTINGS["taught"], _FOR_A_CONVERSATION * count, _SEED_OF_DATA)
        _generate(data, "--problems", problems, "--conversations", str(count))
        train(name, config, base=base, data=data, out=out)
        _evaluate(out, name, base, out / name, *put)
    names = ["base", *(f"tuned-{count}" for count in steps)]
    if forks:
        names += _improve(out, names[-1], base, forks, max_steps, put)
    if not (comparison := out / "comparison").exists():
        judged = [str(out / f"evaluation-{name}") for name in names]
        soliloquy("evaluate", "compare", *judged, "--out", str(comparison))
    if play:
        for name in (names[0], names[-1]):
            _play(out, name, base, None if name == "base" else out / name, asked, play)


def _improve(out: Path, tuned: str, base: Path, forks: int, max_steps: int | None, put: Sequence[str]) -> list[str]:
    """Trains on preferences, if any, and then on rewards, each from the adapter before; returns the names."""
    data, forked = out / f"conversations-{tuned.partition('-')[2]}", out / "forks"
    if not (forked / "tree.jsonl").is_file():
        with _served(out, "forking", base, out / tuned) as settings:
            asked = ["--conversations", str(forks), *_FORKED, "--model-settings", str(settings)]
            soliloquy("fork", str(data), *asked, "--out", str(forked))
    more = {"max_steps": max_steps} if max_steps else {}
    rewarded = _SETTINGS["rewarded"] | more
    rewarded["rollouts"] |= {"problems": str(data.with_suffix(".jsonl"))}
    learned = {"rewarded": (rewarded, list[str]())}
    if (forked / "preferences" / "pairs.jsonl").stat().st_size:
        learned = {"preferred": (_SETTINGS["preferred"] | more, ["--data", str(forked / "preferences")]), **learned}
    else:
        print("no continuation was better than another: there are no preferences to learn from", flush=True)
    before = tuned
    for name, (settings, given) in learned.items():
        config = write_config(out / f"{name}.yaml", settings)
        if not (out / name / "report.json").is_file():
            start = ["--base", str(base), "--from", str(out / before / "adapter"), "--name", name, "--out", str(out)]
            soliloquy("train", "--config", str(config), *start, *given)
        _evaluate(out, name, base, out / name, *put)
        before = name
    return [*learned]


def _draw(out: Path, topics: Sequence[str], count: int, seed: int) -> str:
    """Draws the same problems each time; returns their file."""
    file = out.with_suffix(".jsonl")
    if not file.exists():
        drawn = [part for topic in topics for part in ("--topic", topic)]
        drawn += ["--count", str(count), "--seed", str(seed), "--out", str(file)]
        soliloquy("problems", "sample", _SETTINGS["bank"], *drawn)
    return str(file)


def _generate(out: Path, *options: str) -> None:
    if not (out / "manifest.json").is_file():
        soliloquy("generate", *options, "--seed", str(_SEED_OF_DATA), "--out", str(out), ends=(0, INCOMPLETE))


def _evaluate(out: Path, name: str, base: Path, tuned: Path | None, *put: str) -> None:
    """Evaluates free output, without a grammar."""
    folder = out / f"evaluation-{name}"
    if not (folder / "report.json").is_file():
        # A stage that was killed may have left a part.
        shutil.rmtree(folder, ignore_errors=True)
        weights = ["--weights", str(_weights(base, tuned)), "--free", "--name", name]
        weights += ["--adapter", str(tuned / "adapter")] if tuned and _is_adapter(tuned) else []
        soliloquy("evaluate", DEFAULT, *put, *weights, "--out", str(folder))


def _play(out: Path, name: str, base: Path, tuned: Path | None, problems: str, count: int) -> None:
    """Lets the model play the tutor's roles beside the scripted student and planner."""
    dataset = out / f"played-{name}"
    if (dataset / "manifest.json").is_file():
        return
    with _served(out, name, base, tuned) as settings:
        wanted = ["--conversations", str(count), "--max-attempts", "1", "--max-turns", _MAX_TURNS]
        _generate(dataset, "--problems", problems, *wanted, "--model-settings", str(settings))
    print(json.dumps({name: json.loads((dataset / "manifest.json").read_bytes())["counts"]}), flush=True)


@contextmanager
def _served(out: Path, name: str, base: Path, tuned: Path | None) -> Iterator[Path]:
    """Serves the model, and yields settings in which it plays the tutor's roles."""
    is_adapter = tuned is not None and _is_adapter(tuned)
    adapter = ["--adapter", f"tutor={tuned}/adapter"] if is_adapter else []
    with by_the_model_service(_weights(base, tuned), out / f"{name}.log", *adapter) as served:
        settings = out / f"{name}.toml"
        lines = ['endpoint = "scripted"', "[endpoints.scripted]", 'engine = "scripted"', "[endpoints.real]"]
        lines += ['engine = "openai"', f'base_url = "{served.url}"', f"timeout = {_ANSWER_SECONDS}"]
        lines += [f'model = "{"tutor" if is_adapter else served.model}"']
        lines += [f'[roles.{role}]\nendpoint = "real"' for role in ("tutor", "codegen", "composer")]
        settings.write_text("\n".join(lines), "utf-8")
        yield settings


def _is_adapter(tuned: Path) -> bool:
    return (tuned / "adapter").exists()


def _weights(base: Path, tuned: Path | None) -> Path:
    return base if tuned is None or _is_adapter(tuned) else tuned / "model"


if __name__ == "__main__":
    main()
