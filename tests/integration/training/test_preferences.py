"""TRL takes our exports: its DPO and KTO trainers a step on preferences, its SFT trainer learns what ours does."""

import json
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.reading import Dataset
from soliloquy.recipes.recipe import TrainingMessage
from soliloquy_training.data import samples
from soliloquy_training.templating import Template
from tests.models.fixtures import base
from tests.unit.dataset.exports.test_preferences import copied, sent_back
from tests.unit.training.growing import conversations, dataset

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


def test_trl_learns_the_same_tokens_of_a_chat_as_our_own_training(base: Path, tmp_path: Path) -> None:
    import trl
    from datasets import Dataset as Rows
    from transformers import AutoModelForCausalLM, AutoTokenizer

    grown = dataset(tmp_path / "data", conversations(3))
    export(Dataset(grown), "openai", tmp_path / "chats.jsonl", choice=ExportOptions(["hidden"]))
    exported = [json.loads(line)["messages"] for line in (tmp_path / "chats.jsonl").read_text("utf-8").splitlines()]
    prompts = [
        [{"role": message.role, "content": message.text} for message in sample]
        for sample in samples(conversations(1)[0], "states")
    ]
    chats = exported + prompts
    trainer = trl.SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(base, local_files_only=True),
        args=trl.SFTConfig(
            output_dir=str(tmp_path / "out"),
            assistant_only_loss=True,
            max_length=None,
            use_cpu=True,
            bf16=False,
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=Rows.from_list([{"messages": chat} for chat in chats]),
        processing_class=AutoTokenizer.from_pretrained(base, local_files_only=True),
    )
    told = [
        [
            TrainingMessage(message["role"], message["content"], 0, learned=message["role"] == "assistant")
            for message in chat
        ]
        for chat in chats
    ]
    ours = [tokens for tokens in Template(base).tokens(told) if tokens]
    assert len(ours) == len(chats) > 10
    for row, tokens in zip(trainer.train_dataset, ours, strict=True):
        assert row["input_ids"] == tokens.ids
        assert [label != -100 for label in row["labels"]] == tokens.learned
