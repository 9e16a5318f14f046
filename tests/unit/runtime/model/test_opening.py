"""The models of a run, built from their settings."""

import json
import socket
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import NO_RESERVE, ModelRefused, Reserve, StreamListener
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.opening import ModelByRole, open_models
from soliloquy.runtime.model.recording import FILE
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.model.settings_file import read_models, shipped_models
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Record, Sampling


class Echo:
    """Answers with the request's settings."""

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        sampling = request.sampling
        said = [request.adapter, sampling.temperature, sampling.top_p, sampling.max_tokens]
        said += [sampling.reasoning_effort] if sampling.reasoning_effort else []
        return Completion(text=json.dumps(said), prompt_tokens=3, completion_tokens=2)


def read(folder: Path, text: str) -> Models:
    (folder / "models.toml").write_text(text, "utf-8")
    return read_models(folder / "models.toml")


@pytest.mark.parametrize(("model", "told"), [("gpt", False), ("scripted-large", True)])
async def test_no_model_but_a_stand_in_gets_the_record_of_a_request(tmp_path: Path, model: str, told: bool) -> None:
    heard = []

    class Heard(Echo):
        async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
            heard.append(request.HasField("record"))
            return await super().generate(request)

    one = f'engine = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "{model}"\n'
    models = read(tmp_path, f'endpoint = "one"\n[endpoints.one]\n{one}')
    asked = GenerateRequest(role="tutor", record=Record(persona="casual"))
    await ModelByRole(models, {"one": Heard()}).generate(asked)
    assert heard == [told]


async def test_several_answers_to_one_prompt_are_refused_at_temperature_zero() -> None:
    asked = GenerateRequest(role="codegen", prompt="problems/program", more_seeds=[2, 3])
    async with open_models(shipped_models(), Echo, None) as models_at_work:
        with pytest.raises(ModelRefused, match=r"3 answers to the prompt 'problems/program' would be the same"):
            await models_at_work.generate(asked)
        asked.sampling.CopyFrom(Sampling(temperature=0.7))
        await models_at_work.generate(asked)


async def test_a_prompt_is_asked_as_its_own_settings_say_before_its_recipe_s_and_its_role_s(tmp_path: Path) -> None:
    models = read(
        tmp_path,
        '[roles.planner]\ntemperature = 0.9\nreasoning_effort = "high"\n'
        '[prompts."mathdial/solving"]\ntemperature = 0.3\nmax_tokens = 50\n',
    )
    recommended = Sampling(temperature=0.7)

    async def sampled(prompt: str, sampling: Sampling | None) -> list[object]:
        asked = GenerateRequest(role="planner", prompt=prompt, sampling=sampling, extra_room=1, draw_key="c")
        return list(json.loads((await models_at_work.generate(asked)).text))

    async with open_models(models, Echo, None) as models_at_work:
        assert await sampled("mathdial/solving", recommended) == ["", 0.3, 1.0, 100, "high"]
        assert await sampled("mathdial/describing", recommended) == ["", 0.7, 1.0, 3200, "high"]
        assert await sampled("mathdial/describing", None) == ["", 0.9, 1.0, 3200, "high"]


async def test_the_fallback_of_a_role_is_asked_with_its_sampling_and_is_checked_with_the_other_endpoints(
    tmp_path: Path,
) -> None:
    two = "".join(f'[endpoints.{name}]\nengine = "scripted"\n' for name in ("one", "other"))
    models = read(tmp_path, f'endpoint = "one"\n{two}[roles.composer]\nfallback = "other"\nmax_tokens = 5\n')
    assert models.used.keys() == {"one", "other"}
    async with open_models(models, Echo, None) as models_at_work:
        assert models_at_work.reserve("composer", "c") == Reserve(fallback=True)
        assert models_at_work.reserve("student", "c") == NO_RESERVE
        usual, last = [
            await models_at_work.generate(GenerateRequest(role="composer", fallback=asked)) for asked in (False, True)
        ]
    assert (usual.endpoint, last.endpoint) == ("", "other")
    assert json.loads(last.text) == ["", 0.4, 1.0, 5]


async def test_a_fallback_that_is_away_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        other = f'engine = "openai"\nbase_url = "http://127.0.0.1:{silent.getsockname()[1]}/v1"\nmodel = "m"\n'
        two = f'endpoint = "one"\n[endpoints.one]\nengine = "scripted"\n[endpoints.other]\n{other}'
        with pytest.raises(Failure, match=r"does not answer: .*: start this fallback, or remove it"):
            await require_endpoints(read(tmp_path, f'{two}[roles.composer]\nfallback = "other"\n'), None)
        # A run waits for an endpoint that it cannot do without.
        await require_endpoints(read(tmp_path, f'{two}[roles.composer]\nendpoint = "other"\n'), None)


async def test_once_answers_are_recorded_a_model_service_is_asked_and_no_other_endpoint(tmp_path: Path) -> None:
    def models(place: str) -> Models:
        two = f'endpoint = "one"\n[endpoints.one]\nengine = "scripted"\n[endpoints.other]\n{place}\n'
        return read(tmp_path, f'{two}[roles.composer]\nfallback = "other"\n')

    (tmp_path / FILE).touch()
    hosted, service = 'engine = "openai"\nbase_url = "http://127.0.0.1:1/v1"', 'engine = "ray"\naddress = "127.0.0.1:1"'
    await require_endpoints(models(f'{hosted}\nmodel = "m"'), tmp_path)
    with pytest.raises(Failure, match="start this fallback"):
        await require_endpoints(models(service), tmp_path)


async def test_an_answer_says_who_gave_it_where_several_may(tmp_path: Path) -> None:
    two = "".join(f'[endpoints.{name}]\nengine = "scripted"\n' for name in ("one", "other"))
    mixture = "".join(f'[[roles.tutor]]\nendpoint = "{name}"\n' for name in ("one", "other"))
    models = read(tmp_path, f'endpoint = "one"\n{two}{mixture}[prompts."a/b"]\nendpoint = "other"\n')

    async def answerer(role: str, prompt: str, key: str) -> str:
        request = GenerateRequest(role=role, prompt=prompt, draw_key=key)
        return (await models_at_work.generate(request)).endpoint

    async with open_models(models, Echo, None) as models_at_work:
        assert {await answerer("tutor", "a/c", str(number)) for number in range(20)} == {"one", "other"}
        assert await answerer("student", "a/c", "") == ""
        assert await answerer("student", "a/b", "") == "other"


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


async def test_batches_are_refused_to_whoever_has_no_run_to_keep_them(tmp_path: Path) -> None:
    models = read(tmp_path, '[endpoints.h]\nengine = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nbatch = true\n')
    with pytest.raises(Failure, match="h: batch is for `soliloquy generate` without --kafka"):
        async with open_models(models, Echo, None):
            pass
