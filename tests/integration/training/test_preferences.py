"""TRL loads our preferences, and its DPO and KTO trainers take a step on them."""

from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.reading import Dataset
from tests.models.fixtures import base
from tests.unit.dataset.exports.test_preferences import copied, sent_back
from tests.unit.training.growing import dataset

__all__ = ["base"]

# TRL warns of what transformers renames.
pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def preferences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conversations with an answer that was sent back in each."""
    folder = tmp_path_factory.mktemp("preferences")
    grown = [copied(ordinal) for ordinal in range(2)]
    for one in grown:
        sent_back(one, 1, "soliloquy/student")
    export(Dataset(dataset(folder / "data", grown)), "preferences", folder / "out", choice=ExportOptions())
    return folder / "out"


@pytest.mark.parametrize(("method", "file"), [("DPO", "pairs"), ("KTO", "labelled")])
def test_trl_takes_a_step_on_our_preferences(
    preferences: Path, base: Path, tmp_path: Path, method: str, file: str
) -> None:
    import trl
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer

    rows = load_dataset("json", data_files=str(preferences / f"{file}.jsonl"), cache_dir=str(tmp_path / "cache"))
    config: Any = getattr(trl, f"{method}Config")(
        output_dir=str(tmp_path / "out"),
        max_steps=1,
        per_device_train_batch_size=2,
        max_length=4096,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = getattr(trl, f"{method}Trainer")(
        model=AutoModelForCausalLM.from_pretrained(base, local_files_only=True),
        args=config,
        train_dataset=rows["train"],
        processing_class=AutoTokenizer.from_pretrained(base, local_files_only=True),
    )
    trained = trainer.train()
    assert trained.global_step == 1
    assert trained.training_loss > 0
