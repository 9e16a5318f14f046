"""Invalid requests and adapters are refused with one line that says what is wrong and what to do."""

import json
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from soliloquy.v1.model_pb2 import Adapter, Finish, GenerateRequest, Message, Sampling
from soliloquy_services.model.engines.engine import (
    EngineRefused,
    InvalidRequest,
    MissingWeights,
    TooLong,
    UnknownAdapter,
    WrongBase,
)
from tests.integration.model.support import answer, request, requests, started
from tests.models import needs_torch

pytestmark = [needs_torch, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chat(base: Path) -> AsyncIterator[Any]:
    """One backend for all tests that leave it unchanged."""
    async with started(base, max_adapters=1) as chat:
        yield chat


async def test_a_prompt_that_fills_the_context_is_answered_and_one_over_it_refused_with_both_numbers(
    base: Path,
) -> None:
    endless = '{"type": "string", "minLength": 9000}'
    async with started(base, cache_tokens=128) as chat:
        with pytest.raises(TooLong, match=r"the prompt has \d{4} tokens .* more than the 128 of tiny's context"):
            await answer(chat, request("slow " * 1500))
        with pytest.raises(TooLong, match="its answer may have 500"):
            await answer(chat, request(max_tokens=500))
        completion = await answer(chat, request(schema=endless, max_tokens=0, temperature=1.0))
    assert completion.prompt_tokens + completion.completion_tokens == 128
    assert completion.finish == Finish.FINISH_LENGTH


@pytest.mark.parametrize(
    ("asked", "kind", "refusal"),
    [
        (request(max_tokens=4097), InvalidRequest, "max_tokens is 4097, above the limit of 4096"),
        (request(max_tokens=-1), InvalidRequest, "max_tokens >= 0"),
        (request(temperature=-0.5), InvalidRequest, "temperature -0.5"),
        (request(temperature=float("nan")), InvalidRequest, "temperature nan"),
        (request(top_p=1.5), InvalidRequest, "top_p 1.5"),
        (request(adapter="chemistry"), UnknownAdapter, "no adapter 'chemistry' is loaded: .*; loaded: none"),
        (GenerateRequest(), InvalidRequest, "no messages"),
        (GenerateRequest(messages=[Message(role="wizard", text="hi")]), InvalidRequest, "unknown role 'wizard'"),
    ],
    ids=lambda value: "" if isinstance(value, GenerateRequest) else str(value),
)
async def test_a_request_that_makes_no_sense_is_refused(
    chat: Any, asked: GenerateRequest, kind: type[EngineRefused], refusal: str
) -> None:
    with pytest.raises(kind, match=refusal):
        await answer(chat, asked)
    assert requests("waiting") == 0


async def test_what_a_request_leaves_open_is_filled_in(base: Path) -> None:
    async with started(base, max_tokens=7) as chat:
        completion = await answer(chat, GenerateRequest(messages=request().messages, sampling=Sampling()))
        assert completion.completion_tokens <= 7


def _lacking(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _of_another_base(folder: Path) -> None:
    (folder / "README.md").write_text(f"---\nlibrary_name: peft\nbase_model_digest: {'ab' * 32}\n---\nTuned.\n")


def _spoiled(folder: Path) -> None:
    (folder / "adapter_model.safetensors").write_bytes(b"spoiled")


def _config(**changed: object) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        config = folder / "adapter_config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | changed))

    return spoil


def _of_narrower_base(folder: Path) -> None:
    """Keeps half of the inputs of each matrix."""
    from safetensors.numpy import load_file, save_file

    weights = folder / "adapter_model.safetensors"
    halved = {
        name: part[:, : part.shape[1] // 2] if "lora_A" in name else part for name, part in load_file(weights).items()
    }
    save_file({name: part.copy() for name, part in halved.items()}, weights)


def _of_other_modules(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    weights = folder / "adapter_model.safetensors"
    save_file({name.replace("layers", "blocks"): part for name, part in load_file(weights).items()}, weights)


BAD_ADAPTERS: list[tuple[Callable[[Path], object], type[EngineRefused], str]] = [
    (lambda folder: (folder / "adapter_config.json").write_text("{"), MissingWeights, "cannot load the adapter"),
    (lambda folder: (folder / "adapter_config.json").write_text("[]"), MissingWeights, "does not describe LoRA"),
    (_config(peft_type="IA3"), MissingWeights, "does not describe LoRA matrices"),
    (_config(r=0), MissingWeights, "r is no positive number"),
    (_config(r=128), WrongBase, "has rank 128: at most 64 is served"),
    (
        _of_narrower_base,
        WrongBase,
        r"does not fit the model tiny: its matrices for .* make \d+ x \d+, and the model has",
    ),
    (_of_other_modules, WrongBase, "does not fit the model tiny: it changes .*, which the model lacks"),
    (_lacking("adapter_model.safetensors"), MissingWeights, "missing adapter_model.safetensors"),
    (_lacking("adapter_config.json"), MissingWeights, "missing adapter_config.json"),
    (_spoiled, MissingWeights, "cannot load the"),
    (_config(r=16), WrongBase, "does not fit the model"),
    (_of_another_base, WrongBase, "trained on the base abababababab, but tiny is [0-9a-f]{12}: serve that base"),
]


@pytest.mark.parametrize(("spoil", "kind", "refusal"), BAD_ADAPTERS)
async def test_an_adapter_that_cannot_be_used_is_refused_and_changes_nothing(
    chat: Any,
    adapters: list[Adapter],
    tmp_path: Path,
    spoil: Callable[[Path], object],
    kind: type[EngineRefused],
    refusal: str,
) -> None:
    folder = Path(shutil.copytree(adapters[0].path, tmp_path / "spoiled"))
    spoil(folder)
    with pytest.raises(kind, match=refusal) as refused:
        await chat.load_adapter(Adapter(name="spoiled", path=str(folder)))
    assert "\n" not in str(refused.value)
    assert chat.adapters() == []
    assert (await answer(chat, request(max_tokens=2))).completion_tokens == 2


async def test_an_adapter_is_loaded_only_with_the_digest_that_it_was_asked_by_and_with_the_base_that_it_names(
    chat: Any, adapters: list[Adapter], tmp_path: Path
) -> None:
    with pytest.raises(MissingWeights, match=f"not {'0' * 64}: name the folder with that digest"):
        await chat.load_adapter(Adapter(name="algebra", path=adapters[0].path, digest="0" * 64))
    loaded = await chat.load_adapter(adapters[0])
    assert await chat.load_adapter(loaded) == loaded
    with pytest.raises(InvalidRequest, match="1 adapters are loaded, which is the limit: unload one"):
        await chat.load_adapter(adapters[1])
    await chat.unload_adapter(loaded.name)
    folder = Path(shutil.copytree(adapters[0].path, tmp_path / "tuned"))
    digest = chat.info().digest
    (folder / "README.md").write_text(f"---\nbase_model_digest: {digest}\n---\n")
    assert (await chat.load_adapter(Adapter(name="tuned", path=str(folder)))).base_digest == digest
    await chat.unload_adapter("tuned")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
async def test_a_model_that_is_not_all_there_does_not_start(base: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "half"))
    (folder / name).unlink()
    with pytest.raises(MissingWeights, match=f"{folder} is not a model: missing .*{name.removeprefix('model')}"):
        async with started(folder):
            pass


async def test_weights_beside_another_tokenizer_do_not_start(base: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "mixed"))
    config = json.loads((folder / "config.json").read_text())
    tokens = config["vocab_size"]
    for vocabulary in (tokens // 2, 2 * tokens):
        (folder / "config.json").write_text(json.dumps(config | {"vocab_size": vocabulary}))
        with pytest.raises(MissingWeights, match=f"has {tokens:,} tokens and its weights {vocabulary:,}: use the tok"):
            async with started(folder):
                pass


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.999])
async def test_weights_that_were_copied_in_part_do_not_start(base: Path, tmp_path: Path, kept: float) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "half"))
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: int(kept * len(weights))])
    with pytest.raises(MissingWeights, match=r"model\.safetensors cannot be read \(.+\): copy it again") as refused:
        async with started(folder):
            pass
    assert "\n" not in str(refused.value)


async def test_a_folder_of_a_gguf_file_is_told_who_serves_it(tmp_path: Path) -> None:
    (tmp_path / "half.gguf").write_bytes(b"GGUF")
    with pytest.raises(MissingWeights, match=r"is not a model: missing .*; serve a GGUF file with llama\.cpp, and ask"):
        async with started(tmp_path):
            pass
