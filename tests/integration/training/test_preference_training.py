"""DPO and KTO learn from what rules sent back, to an adapter as any other, however often they are killed."""

import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure
from soliloquy_training import step_log
from soliloquy_training.folder import Job
from soliloquy_training.settings import TrainingSettings
from tests.integration.training.preferring import SETTINGS, preferring
from tests.integration.training.processes import adapter, check, command, losses, train, until_step
from tests.models import needs_ray
from tests.unit.training.growing import conversations, dataset

# TRL warns of what transformers renames.
pytestmark = pytest.mark.filterwarnings("ignore")


def job(folder: Path, base: Path, data: Path, method: str, **differing: Any) -> Job:
    settings = TrainingSettings.model_validate({**SETTINGS, "method": method, **differing})
    return Job(settings=settings, base=base, data=str(data), folder=folder)


@pytest.mark.parametrize(("method", "steps"), [("dpo", 3), pytest.param("kto", 6, marks=pytest.mark.thorough)])
def test_a_training_learns_to_prefer_what_stands_and_leaves_an_adapter_as_any_other(
    tmp_path: Path, base: Path, method: str, steps: int
) -> None:
    from soliloquy.runtime.weights import base_digest
    from soliloquy.v1.model_pb2 import Adapter
    from soliloquy_services.model.engines.weights import check_fits, read_adapter
    from soliloquy_training.adapters.version import read_version

    trained = job(tmp_path / "tutor-1", base, preferring(tmp_path / "data"), method, max_steps=steps)
    train(trained)
    first, *_, last = step_log.steps(trained.folder / "metrics.jsonl")
    assert last["loss"] < first["loss"] - 0.1
    assert last["learned_tokens"] > 0
    report = json.loads((trained.folder / "report.json").read_bytes())
    assert report["figures"]["rewards/chosen"] > 0 > report["figures"]["rewards/rejected"]
    assert report["validation"]["loss"] == min(validation for _, validation in losses(trained.folder) if validation)
    assert all(sample["prompt"] and sample["before"] != sample["after"] for sample in report["samples"])
    read = read_adapter(Adapter(name="tutor", path=str(trained.folder / "adapter")))
    check_fits(read, base_digest(base), base)
    version, _ = read_version(trained.folder, "tutor")
    assert version.metrics["method"] == method
    assert f"Trained by {method} on 3 conversations" in (trained.folder / "adapter" / "README.md").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "loss"), [("dpo", math.log(2)), ("kto", 0.5)])
def test_a_training_is_held_to_the_adapter_that_it_starts_from(
    tmp_path: Path, base: Path, method: str, loss: float
) -> None:
    from benchmarks.random_weights import make_adapter

    first = make_adapter(tmp_path / "first", base, seed=1)
    second = job(tmp_path / "second", base, preferring(tmp_path / "data"), method, max_steps=1)
    train(replace(second, adapter=first))
    [(found, _)] = losses(second.folder)
    assert found == pytest.approx(loss, abs=1e-5)


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("method", ["dpo", "kto"])
def test_a_training_goes_on_after_kill_9_to_the_very_same_adapter(tmp_path: Path, base: Path, method: str) -> None:
    data = preferring(tmp_path / "data")
    whole, killed = (job(tmp_path / name, base, data, method) for name in ("whole", "killed"))
    train(whole)
    with subprocess.Popen(command(killed)) as process:
        until_step(killed.folder, 3, process)
        process.kill()
    assert not (killed.folder / "report.json").exists()
    # As if it had been killed while it wrote a checkpoint.
    (killed.folder / "checkpoints" / "checkpoint-99").mkdir()
    train(killed)
    assert losses(killed.folder) == losses(whole.folder)
    assert adapter(killed.folder) == adapter(whole.folder)


@needs_ray
@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_two_workers_learn_the_same_with_torchrun_and_on_ray(tmp_path: Path, base: Path) -> None:
    data = preferring(tmp_path / "data")
    found = []
    for name, options in (("torchrun", ()), ("ray", ("--ray",))):
        asked = job(tmp_path / name, base, data, "dpo", micro_batch=1)
        subprocess.run(command(asked, "--workers", "2", *options), check=True)
        found.append(losses(asked.folder))
    assert found[0] == found[1]
    assert len(found[0]) == 6


@pytest.mark.parametrize(("method", "rows"), [("dpo", 6), ("kto", 12)])
def test_exported_preferences_train_as_their_dataset_does_without_the_student_s(
    tmp_path: Path, base: Path, method: str, rows: int
) -> None:
    data = preferring(tmp_path / "data")
    export(Dataset(data), "preferences", tmp_path / "exported", choice=ExportOptions())
    prepared = []
    for name in ("data", "exported"):
        asked = job(tmp_path / f"from-{name}", base, tmp_path / name, method)
        check(asked)
        prepared.append(b"".join(path.read_bytes() for path in sorted(asked.folder.glob("prepared/*/*.arrow"))))
        summary = json.loads((asked.folder / "prepared" / "summary.json").read_bytes())
        assert summary["samples"] == rows
        assert summary["learned_tokens"] > 0
    assert prepared[0] == prepared[1]


def test_what_cannot_be_preferred_is_one_line(tmp_path: Path, base: Path) -> None:
    data, plain = preferring(tmp_path / "data"), dataset(tmp_path / "plain", conversations(1))
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("pairs", "labelled"):
        (broken / f"{name}.jsonl").write_text('{"prompt": [')
    cases: list[tuple[Path, str, dict[str, Any], str]] = [
        (plain, "dpo", {}, "has no answer of the tutor that a rule certainly found unfit and that was mended"),
        (plain, "kto", {}, "has no answer of the tutor that a rule certainly found unfit: generate more"),
        (data, "dpo", {"sequence_length": 100}, "no answer fits into 100 tokens with its prompt (the longest has"),
        (broken, "kto", {}, "labelled.jsonl: line 1 is not JSON"),
    ]
    for number, (place, method, differing, told) in enumerate(cases):
        with pytest.raises(Failure) as refused:
            check(job(tmp_path / f"out-{number}", base, place, method, **differing))
        assert told in str(refused.value)
