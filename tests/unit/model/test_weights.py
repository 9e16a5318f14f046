"""Folders of weights are identified by their digests."""

import hashlib
from pathlib import Path

import pytest

from soliloquy.runtime.weights import base_digest
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.engines.weights import read_adapter

BASE = "3f" * 32


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    (tmp_path / "adapter_config.json").write_text("{}")
    (tmp_path / "adapter_model.safetensors").write_bytes(b"weights")
    return tmp_path


def test_an_adapter_is_known_by_its_weights(adapter: Path) -> None:
    assert read_adapter(Adapter(path=str(adapter))).digest == hashlib.sha256(b"weights").hexdigest()


@pytest.mark.parametrize(
    ("card", "named"),
    [
        (f"---\nbase_model_digest: {BASE}\n---\n# Tuned\n", BASE),
        (f"---\nlibrary_name: peft\ntags:\n- lora\nbase_model_digest: '{BASE}'\n---\n", BASE),
        ("---\nlibrary_name: peft\n---\n# Tuned\n", ""),
        (f"# Tuned\nbase_model_digest: {BASE}\n", ""),
        (f"---\nlibrary_name: peft\n---\nbase_model_digest: {BASE}\n", ""),
    ],
)
def test_the_front_matter_of_its_card_names_its_base(adapter: Path, card: str, named: str) -> None:
    (adapter / "README.md").write_text(card)
    assert read_adapter(Adapter(path=str(adapter))).base_digest == named


@pytest.mark.parametrize("changed", ["model-1.safetensors", "model-2.safetensors", "tokenizer.json"])
def test_a_base_is_known_by_its_weights_and_its_tokenizer(tmp_path: Path, changed: str) -> None:
    for name in ("model-1.safetensors", "model-2.safetensors", "tokenizer.json", "generation_config.json"):
        (tmp_path / name).write_text(name)
    before = base_digest(tmp_path)
    (tmp_path / "generation_config.json").write_text("{}")
    assert base_digest(tmp_path) == before
    (tmp_path / changed).write_text("changed")
    assert base_digest(tmp_path) != before
