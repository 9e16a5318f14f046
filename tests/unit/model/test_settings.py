"""Settings of the engines are checked and passed on; bases and adapters are known by their weights."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.weights import base_digest
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.engines.weights import read_adapter
from soliloquy_services.model.settings import engine_values, load, reserved_gpus
from tests.cases import each_case


def settings(engine: str = "vllm", **given: Any) -> EngineSettings:
    return EngineSettings.model_validate(engine_values(engine, Path("base"), given))


@each_case
def test_the_gpus_that_are_reserved_are_those_that_vllm_uses(
    vllm: Mapping[str, Any], asked: float | None, reserved: float
) -> None:
    assert reserved_gpus("vllm", settings(vllm=vllm), asked) == reserved


@each_case
def test_gpus_that_nothing_would_use_or_that_nothing_reserves_are_refused(
    vllm: Mapping[str, Any], asked: float, told: str
) -> None:
    with pytest.raises(Failure, match=told):
        reserved_gpus("vllm", settings(vllm=vllm), asked)


@each_case
def test_settings_that_contradict_each_other_or_that_nothing_knows_are_refused(
    given: Mapping[str, Any], told: str
) -> None:
    with pytest.raises(ValidationError, match=told):
        settings(**given)


def test_the_engine_s_settings_name_no_model_beside_the_option() -> None:
    with pytest.raises(Failure, match="name a model, which --model does"):
        settings(model="another")


def test_a_replica_takes_two_batches_and_never_fewer_than_one() -> None:
    assert load(settings()) == (256, 512)
    assert load(settings("transformers"), target=8) == (8, 64)
    assert settings().most_waiting == 512
    with pytest.raises(Failure, match="100 requests at most, which never fill its batch of 256"):
        load(settings(), most=100)
    with pytest.raises(Failure, match="aims for 900 requests and takes 512 at most"):
        load(settings(), target=900)


def test_what_is_set_by_name_reaches_vllm_by_its_own_names() -> None:
    arguments = settings(
        vllm={"tensor_parallel": 2, "context": 8192, "speculative": {"method": "ngram"}, "engine_args": {"seed": 3}}
    ).vllm.arguments()
    assert arguments["tensor_parallel_size"] == 2
    assert arguments["max_model_len"] == 8192
    assert arguments["speculative_config"] == {"method": "ngram"}
    assert arguments["distributed_executor_backend"] == "mp"
    assert arguments["seed"] == 3
    assert "max_num_batched_tokens" not in arguments


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
