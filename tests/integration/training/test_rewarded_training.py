"""GRPO learns from rewards of the gym, on the model's own tokens alone, however often it is interrupted."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_training.folder import Job
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.step_log import StepLog, steps
from tests.integration.training.processes import adapter, check, command, losses, train

# TRL warns of what transformers renames.
pytestmark = pytest.mark.filterwarnings("ignore")
STEPS = 6
SETTINGS: dict[str, Any] = {
    "method": "grpo",
    "sequence_length": 4096,
    "batch": 16,
    "micro_batch": 8,
    "max_steps": STEPS,
    "learning_rate": 1e-2,
    "beta": 0.02,
    "lora": {"rank": 4, "alpha": 8},
    "checkpoint_every": 1,
    "rollouts": {"group": 8, "max_tokens": 1, "roles": ["tutor"], "weights": {"length": 1.0}},
}


class Killed(Exception):
    """Simulates the death of the process at this moment."""


def job(folder: Path, base: Path, **differing: Any) -> Job:
    return Job(settings=TrainingSettings.model_validate({**SETTINGS, **differing}), base=base, data="", folder=folder)


@pytest.fixture(scope="module")
def liking_even_tokens() -> Iterator[None]:
    """Rewards even tokens: a model with random weights never gets as far as to earn anything in the gym."""
    from soliloquy.gym import Reward
    from soliloquy.gym.rewards import WEIGHTS, Component
    from soliloquy_training.methods.rollouts import Played

    def reward(self: Played) -> Reward:
        even = sum(call.answer[0] % 2 == 0 for call in self.calls) / len(self.calls)
        return Reward(components={name: Component(value=even * (name == "length"), weight=1.0) for name in WEIGHTS})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Played, "reward", property(reward))
        yield


@pytest.fixture(scope="module")
def rewarded(base: Path, liking_even_tokens: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    trained = job(tmp_path_factory.mktemp("rewarded") / "tutor-1", base)
    train(trained)
    return trained.folder


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_reward_rises_and_the_report_tells_how(rewarded: Path) -> None:
    curve = [step["figures"] for step in steps(rewarded / "metrics.jsonl")]
    earned = [figures["rewards/length/mean"] for figures in curve]
    assert sum(earned[-2:]) / 2 > sum(earned[:2]) / 2 + 0.1
    assert curve[0]["kl"] == pytest.approx(0.0, abs=1e-6)
    assert curve[-1]["kl"] > 0
    report = json.loads((rewarded / "report.json").read_bytes())
    assert report["figures"]["completions/mean_length"] > 0
    assert report["data"]["conversations"] == STEPS * SETTINGS["batch"]
    assert [sample["before"].startswith("Student: ") for sample in report["samples"]] == [True, True]
    first = json.loads((rewarded / "rollouts" / "00000001-0.json").read_bytes())
    assert len({one["problem"] for one in first}) == 2
    assert all(one["components"]["length"]["value"] == one["reward"] for one in first)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_an_interrupted_training_comes_to_the_very_same_adapter(
    rewarded: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = job(tmp_path / "cut", base)
    written = StepLog.add

    def add(self: StepLog, done: Any) -> None:
        written(self, done)
        if done.step == 2:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(StepLog, "add", add)
        with pytest.raises(Killed):
            train(cut)
    train(cut)
    assert losses(cut.folder) == losses(rewarded)
    assert adapter(cut.folder) == adapter(rewarded)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_workers_share_the_episodes_of_a_step(base: Path, tmp_path: Path) -> None:
    shared = job(tmp_path / "shared", base, max_steps=1, batch=8, micro_batch=4)
    subprocess.run(command(shared, "--workers", "2"), check=True)
    files = sorted((shared.folder / "rollouts").iterdir())
    assert [file.name for file in files] == ["00000001-0.json", "00000001-1.json"]
    assert [len(json.loads(file.read_bytes())) for file in files] == [4, 4]
    assert adapter(shared.folder)


def test_each_answer_is_scored_after_its_own_prompt_and_nothing_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    import trl

    from soliloquy_training.methods.grpo import Grpo
    from soliloquy_training.methods.rollouts import Call, Played

    episodes = [
        Played(ordinal=0, episode=None, calls=[Call(prompt=[1, 2, 3], answer=[4]), Call(prompt=[5], answer=[6, 7])]),  # type: ignore[arg-type]
        Played(ordinal=0, episode=None, calls=[Call(prompt=[8], answer=[9, 10, 11])]),  # type: ignore[arg-type]
    ]
    asked: list[list[int]] = []

    def echo(self: Any, model: Any, ids: Any, seen: Any, keep: int, **_: Any) -> Any:
        asked.extend(row[kept.bool()].tolist() for row, kept in zip(ids, seen, strict=True))
        return ids[:, -keep:].float(), None, None

    monkeypatch.setattr(trl.GRPOTrainer, "_get_per_token_logps_and_entropies", echo)
    trainer = Grpo.__new__(Grpo)
    trainer._tokenizer = type("Tokenizer", (), {"pad_token_id": 0})
    trainer.calls = {(*one.prompt, *one.tokens): one.calls for one in episodes}
    # As TRL pads prompts and what follows them.
    ids = torch.tensor([[1, 2, 3, 4, 5, 6, 7], [0, 0, 8, 9, 10, 11, 0]])
    scores, _, _ = trainer._get_per_token_logps_and_entropies(None, ids, ids > 0, 4)
    assert asked == [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10, 11]]
    assert scores.tolist() == [[4, 0, 6, 7], [9, 10, 11, 0]]
    assert [one.own for one in episodes] == [[1, 0, 1, 1], [1, 1, 1]]


def test_what_cannot_be_rewarded_is_one_line(tmp_path: Path, base: Path) -> None:
    rollouts = SETTINGS["rollouts"]
    for number, (differing, told) in enumerate(
        [
            ({"rollouts": {**rollouts, "recipe": "mathwell"}}, "mathwell has no tutor who could be trained"),
            ({"rollouts": {**rollouts, "weights": {"wit": 1.0}}}, "weights: there is no component 'wit'"),
            ({"rollouts": {**rollouts, "problems": "alchemy"}}, "alchemy"),
        ]
    ):
        with pytest.raises(Failure) as refused:
            check(job(tmp_path / str(number), base, **differing))
        assert told in str(refused.value)
