"""The models of a run, built from their settings."""

import json
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused, StreamListener
from soliloquy.runtime.model.opening import open_models
from soliloquy.runtime.model.settings import Models, read_models, shipped_models
from soliloquy.v1.model_pb2 import Completion, GenerateRequest


class Echo:
    """Answers with the request's settings."""

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        sampling = request.sampling
        said = [request.adapter, sampling.temperature, sampling.top_p, sampling.max_tokens]
        return Completion(text=json.dumps(said), prompt_tokens=3, completion_tokens=2)


def read(folder: Path, text: str) -> Models:
    (folder / "models.toml").write_text(text, "utf-8")
    return read_models(folder / "models.toml")


async def test_each_role_is_asked_as_its_settings_say(tmp_path: Path) -> None:
    models = read(tmp_path, "[roles.tutor]\ntemperature = 0.9\nmax_tokens = 5\n")
    async with open_models(models, Echo, None) as models_at_work:
        tutor = await models_at_work.generate(GenerateRequest(role="tutor"))
        composer = await models_at_work.generate(GenerateRequest(role="composer"))
    assert json.loads(tutor.text) == ["", 0.9, 1.0, 5]
    assert json.loads(composer.text) == ["", 0.4, 1.0, 800]


async def test_a_role_that_nobody_plays_is_refused_with_those_there_are() -> None:
    async with open_models(shipped_models(), Echo, None) as models_at_work:
        with pytest.raises(ModelRefused, match=r"'judge' is asked; there are: .*tutor"):
            await models_at_work.generate(GenerateRequest(role="judge"))


async def test_tokens_and_calls_are_counted_by_role() -> None:
    def counted(name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(name, {"endpoint": "scripted", "role": "codegen", **labels}) or 0.0

    names = [
        ("soliloquy_model_calls_total", {"outcome": "answered"}),
        ("soliloquy_model_tokens_total", {"kind": "prompt"}),
        ("soliloquy_model_tokens_total", {"kind": "completion"}),
    ]
    before = [counted(name, **labels) for name, labels in names]
    async with open_models(shipped_models(), Echo, None) as models_at_work:
        for _ in range(4):
            await models_at_work.generate(GenerateRequest(role="codegen"))
    after = [counted(name, **labels) for name, labels in names]
    assert [later - sooner for later, sooner in zip(after, before, strict=True)] == [4, 12, 8]


async def test_a_key_that_is_missing_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    models = read(
        tmp_path, '[endpoints.h]\nengine = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nkey_file = "absent"\n'
    )
    with pytest.raises(Failure, match="h: cannot read a key from absent"):
        async with open_models(models, Echo, None):
            pass
