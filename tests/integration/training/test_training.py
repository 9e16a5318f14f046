"""A training gives the same result however often it is killed, is never reused, and reports errors in one line."""

import json
import resource
import shutil
import subprocess
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from soliloquy.cli.launching import following
from soliloquy.cli.observing import serving_metrics
from soliloquy.runtime.failure import Failure
from soliloquy_training.folder import Job, TrainingFolder
from soliloquy_training.step_log import StepLog
from tests.datasets import rewritten
from tests.integration.model.serving import free_port
from tests.integration.training.conftest import SETTINGS
from tests.integration.training.processes import adapter, check, command, losses, train, until_step
from tests.unit.training.growing import conversations, dataset

Make = Callable[..., Any]


class Killed(Exception):
    """Simulates the death of the process at this moment."""


def test_a_training_leaves_an_adapter_with_its_card_a_report_curves_and_a_picture(whole: Path, base: Path) -> None:
    from soliloquy.runtime.weights import base_digest
    from soliloquy.v1.model_pb2 import Adapter
    from soliloquy_services.model.engines.weights import check_fits, read_adapter

    read = read_adapter(Adapter(name="tutor", path=str(whole / "adapter")))
    check_fits(read, base_digest(base), base)
    report = json.loads((whole / "report.json").read_bytes())
    assert report["adapter_digest"] == read.digest
    assert read.base_digest == report["base_model_digest"] == base_digest(base)
    assert report["steps"] == 5
    assert report["data"]["conversations"] == 3
    assert report["data"]["left_out"] == {"turn_too_long": 0, "special_words": 0}
    assert (whole / "adapter" / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert list((whole / "tensorboard").glob("events.out.tfevents.*"))
    assert str(base) not in (whole / "adapter" / "adapter_config.json").read_text()


@pytest.mark.thorough
def test_the_same_training_again_comes_to_the_same_bytes(whole: Path, job: Make) -> None:
    again = job("again")
    train(again)
    assert losses(again.folder) == losses(whole)
    assert adapter(again.folder) == adapter(whole)


@pytest.mark.thorough
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_a_training_that_ends_at_any_step_goes_on_to_the_very_same_end(
    whole: Path, job: Make, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = job("cut")
    written = StepLog.add

    def add(self: StepLog, done: Any) -> None:
        written(self, done)
        if done.step == step:
            raise Killed

    monkeypatch.setattr(StepLog, "add", add)
    with pytest.raises(Killed):
        train(cut)
    monkeypatch.undo()
    train(cut)
    assert losses(cut.folder) == losses(whole)
    assert adapter(cut.folder) == adapter(whole)


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_training_goes_on_after_kill_9_to_the_very_same_end(whole: Path, job: Make) -> None:
    killed = job("killed")
    with subprocess.Popen(command(killed)) as process:
        until_step(killed.folder, 3, process)
        process.kill()
    assert not (killed.folder / "report.json").exists()
    train(killed)
    assert losses(killed.folder) == losses(whole)
    assert adapter(killed.folder) == adapter(whole)


def test_the_loss_goes_down(job: Make) -> None:
    learning = job("learning", max_steps=8, epochs=4, learning_rate=3e-2, validation_share=0.0)
    train(learning)
    (first, _), *_, (last, _) = losses(learning.folder)
    assert last < first - 0.3


def test_a_finished_training_is_never_taken_for_another(whole: Path, base: Path, data: Path) -> None:
    before = adapter(whole)
    with pytest.raises(Failure, match="holds a finished training: choose another --name"):
        train(Job(settings=SETTINGS, base=base, data=str(data), folder=whole))
    assert adapter(whole) == before


def test_another_training_of_the_same_name_is_told_in_what_it_differs(job: Make) -> None:
    check(job("one"))
    with pytest.raises(Failure, match=r"another training \(learning_rate: 0.01, not 0.1\): choose another --name"):
        check(job("one", learning_rate=0.1))


def test_it_stops_once_nothing_gets_better(job: Make) -> None:
    stuck = job("stuck", learning_rate=1e-12, patience=1, validate_every=1, max_steps=5)
    train(stuck)
    report = json.loads((stuck.folder / "report.json").read_bytes())
    assert report["stopped_early"]
    assert report["steps"] < 5


def test_a_loss_that_is_no_number_ends_it_with_the_good_checkpoint_kept(job: Make) -> None:
    wild = job("wild", learning_rate=1e25, checkpoint_every=1, validation_share=0.0, clip=1e30)
    with pytest.raises(Failure, match=r"the loss of step \d is (nan|inf).*lower learning_rate"):
        train(wild)
    import torch

    newest = sorted((wild.folder / "checkpoints").glob("0*.pt"))[-1]
    kept = torch.load(newest, weights_only=True)
    assert kept["standing"]["step"] == len(losses(wild.folder))


def test_all_weights_may_be_trained(job: Make) -> None:
    from transformers import AutoModelForCausalLM

    full = job("full", tune="full", max_steps=1, validation_share=0.0, gradient_checkpointing=True)
    train(full)
    AutoModelForCausalLM.from_pretrained(full.folder / "model", local_files_only=True)


def test_everything_that_is_read_may_be_learned_but_the_first_word_that_follows_from_nothing(job: Make) -> None:
    reading = job("reading", learn="everything", max_steps=1, validation_share=0.0)
    train(reading)
    prepared = json.loads((reading.folder / "prepared" / "summary.json").read_bytes())
    assert prepared["learned_tokens"] == prepared["tokens"] - prepared["samples"]


@pytest.mark.thorough
def test_what_is_dropped_in_training_is_what_checkpointing_computes_again(job: Make) -> None:
    plain, thrifty = job("plain", max_steps=2), job("thrifty", max_steps=2, gradient_checkpointing=True)
    train(plain)
    train(thrifty)
    assert losses(plain.folder) == losses(thrifty.folder)


def test_an_adapter_of_another_base_is_refused(whole: Path, job: Make, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(whole / "adapter", other)
    card = other / "README.md"
    digest = json.loads((whole / "report.json").read_bytes())["base_model_digest"]
    card.write_text(card.read_text().replace(digest, "0" * 64))
    with pytest.raises(Failure, match=r"was trained on the base 000000000000, but .* is"):
        check(replace(job("mixed"), adapter=other))


def test_what_cannot_be_done_is_one_line(job: Make, tmp_path: Path) -> None:
    empty = dataset(tmp_path / "empty", [])
    rejected = dataset(tmp_path / "rejected", [], rejected=7)
    for wrong, told in [
        (replace(job("a"), data=str(empty)), "it is empty; generate some"),
        (replace(job("b"), data=str(rejected)), "all of its 7 were rejected"),
        (replace(job("c"), data=str(tmp_path)), "holds no conversations"),
        (replace(job("d"), base=tmp_path), "is not a model: missing config.json"),
        (replace(job("e"), adapter=tmp_path), "is not an adapter: missing adapter_model.safetensors"),
        (job("f", sequence_length=100), "no turn fits into 100 tokens (the longest has"),
        (
            job("g", batch=3, micro_batch=2),
            "batch is 3, which 1 workers with micro_batch 2 cannot share",
        ),
        (job("h", quantize="4bit"), "quantize: 4bit requires"),
    ]:
        with pytest.raises(Failure) as refused:
            check(wrong)
        assert told in str(refused.value)
        assert "\n" not in str(refused.value)


def test_data_without_the_columns_of_a_conversation_is_refused(job: Make, tmp_path: Path) -> None:
    folder = dataset(tmp_path / "without-turns", conversations(1))
    rewritten(folder, "accepted/00000.parquet", lambda table: table.drop_columns(["turns"]))
    with pytest.raises(Failure, match="holds no rows of a dataset: it has no column 'turns'"):
        check(replace(job("narrow"), data=str(folder)))


def test_a_matrix_that_the_model_lacks_is_told(job: Make) -> None:
    from soliloquy_training.settings import Lora

    with pytest.raises(Failure, match=r"lora.targets w_pack does not fit the model"):
        train(job("lacking", lora=Lora(targets=("w_pack",))))


@pytest.mark.thorough
def test_a_full_disk_is_one_line_and_leaves_the_checkpoint_before(whole: Path, job: Make) -> None:
    full = job("full-disk")
    check(full)
    size = next((whole / "checkpoints").glob("0*.pt")).stat().st_size
    unlimited, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A limit on the size of files: the data fits, a checkpoint does not.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, most))
    try:
        with pytest.raises(
            Failure, match=r"cannot write .* \(.*\): free some space and run the command again"
        ) as error:
            train(full)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, most))
    assert "\n" not in str(error.value)
    assert not list((full.folder / "checkpoints").glob("*.pt*"))
    train(full)
    assert adapter(full.folder) == adapter(whole)


def test_what_a_training_has_come_to_is_scraped(whole: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with serving_metrics(address):
        with following(whole, quiet=True):
            pass
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
        with (
            pytest.raises(Failure, match=f"cannot serve metrics on {address}"),
            serving_metrics(address),
        ):
            pass
    last = json.loads((whole / "metrics.jsonl").read_text().splitlines()[-1])
    newest = (whole / "checkpoints" / "00000005.pt").stat().st_mtime
    ours = {family.name: family for family in text_string_to_metric_families(text)}
    expected = {
        "step": 5,
        "steps": 5,
        "loss": last["loss"],
        "validation_loss": last["validation"],
        "tokens_per_second": last["tokens"] / last["seconds"],
        "step_seconds": last["seconds"],
        "checkpoint_timestamp_seconds": newest,
    }
    assert {name: ours[f"soliloquy_training_{name}"].samples[0].value for name in expected} == expected
    assert "soliloquy_training_rounds" in ours


def test_two_cannot_train_in_one_folder(job: Make) -> None:
    held = job("held")
    with TrainingFolder(held).opened(), pytest.raises(Failure, match="is in use by another process"):
        check(held)
