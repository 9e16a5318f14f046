"""Activation of adapters: what fails never answers, and the record says what does."""

import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.weights import base_digest
from soliloquy.v1.model_pb2 import Adapter, Completion, GenerateRequest, Message, Sampling
from soliloquy_papers.soliloquy.evaluate.retraining import canaries
from soliloquy_training.adapters.activation import Activation, Canary
from soliloquy_training.adapters.registry import Active, NotActivated, Registry
from soliloquy_training.adapters.serving import ModelService
from soliloquy_training.adapters.version import Version, read_version
from tests.integration.model.asking import short
from tests.integration.model.serving import Load
from tests.models import needs_torch
from tests.unit.training.adapters.folders import front_matter

pytestmark = needs_torch


@pytest.fixture(autouse=True)
def short_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights drawn at random find no end of a text."""
    monkeypatch.setattr("soliloquy_training.adapters.activation._MAX_TOKENS", 4)


@pytest.fixture(scope="module")
def address(base: Path) -> Iterator[str]:
    # Every process that only looks for tests would pay for it.
    from soliloquy_services.model.in_process import serve_weights

    with serve_weights(base) as address:
        yield address


@pytest.fixture
async def service(address: str) -> AsyncIterator[ModelService]:
    async with ModelService(address) as service:
        yield service
        for adapter in (await service.info()).adapters:
            await service.unload(adapter.name)


@pytest.fixture
def versions(base: Path, adapters: list[Adapter], tmp_path: Path) -> list[Version]:
    """Both as versions of one name, and the first once more as if it had been trained on another base."""
    registry = Registry(str(tmp_path / "registry"))
    kept: list[Version] = []
    for name, adapter, digest in (
        ("tutor", adapters[0], base_digest(base)),
        ("tutor", adapters[1], base_digest(base)),
        ("stranger", adapters[0], "c" * 64),
    ):
        made = shutil.copytree(adapter.path, tmp_path / f"{name}-{len(kept)}")
        (made / "README.md").write_text(front_matter(digest), "utf-8")
        version, files = read_version(made, name)
        registry.push(version, files)
        kept.append(version)
    return kept


@pytest.fixture
def registry(versions: Sequence[Version], tmp_path: Path) -> Registry:
    return Registry(str(tmp_path / "registry"))


@pytest.fixture
def activation(registry: Registry, service: ModelService) -> Activation:
    return Activation(registry=registry, service=service)


class Pickiest(Answer):
    """Finds fault with whatever it reads."""

    @classmethod
    def read(cls, text: str) -> tuple[Self, bool]:
        raise Unreadable("it is not what was hoped for")


def prompts(count: int = 1) -> list[Canary]:
    return list(islice(canaries(load_bank("physics").draw(1)), count))


async def answered_by(service: ModelService, adapter: str = "tutor") -> str:
    sampling = Sampling(top_p=1.0, max_tokens=2)
    request = GenerateRequest(messages=[Message(role="user", text="Why?")], adapter=adapter, sampling=sampling)
    completion: Completion = await service.ask(request)
    return completion.adapter_digest


def test_the_canaries_are_prompts_of_all_who_play_the_tutor() -> None:
    asked = [canary.request("tutor") for canary in prompts(3)]
    names = ["soliloquy/deciding", "soliloquy/no_python", "soliloquy/use_python"]
    assert [request.prompt for request in asked] == names
    assert all(request.schema and request.messages for request in asked)
    assert prompts()[0].complaint('{"Use Python":"n"}') == ""
    assert "soliloquy/deciding: " in prompts()[0].complaint("perhaps")


async def test_an_adapter_answers_when_it_is_active_and_the_one_before_after_a_rollback_without_a_lost_request(
    activation: Activation, service: ModelService, address: str, versions: Sequence[Version]
) -> None:
    first, other, _ = versions
    await activation.activate(first, prompts(), readable=0.0)
    async with Load(port=int(address.rpartition(":")[2]), make=partial(short, "tutor"), callers=2) as load:
        assert await load.digests() == {first.digest}
        active = await activation.activate(other, prompts(), readable=0.0)
        assert (active.version, active.before) == (other.id, (first.id,))
        assert await load.digests() == {other.digest}
        assert [adapter.name for adapter in (await service.info()).adapters] == ["tutor"]
        assert await activation.activate(other, prompts(), readable=0.0) == active
        back = await activation.roll_back("tutor")
        assert (back.version, back.before) == (first.id, ())
        assert await load.digests() == {first.digest}
    assert load.failures == []
    with pytest.raises(NotActivated, match="no earlier version of 'tutor'"):
        await activation.roll_back("tutor")


async def test_what_was_trained_on_another_base_is_not_even_loaded(
    activation: Activation, service: ModelService, versions: Sequence[Version], registry: Registry
) -> None:
    with pytest.raises(NotActivated, match="was trained on the base cccccccccccc; the model service serves tiny"):
        await activation.activate(versions[2], prompts(), readable=0.0)
    assert not (await service.info()).adapters
    assert registry.active() == {}


@pytest.mark.thorough
async def test_what_fails_its_canaries_leaves_everything_as_it_was(
    activation: Activation, service: ModelService, versions: Sequence[Version], registry: Registry
) -> None:
    before = await activation.activate(versions[0], prompts(), readable=0.0)
    unreadable = [replace(canary, answer=Pickiest) for canary in prompts()]
    with pytest.raises(NotActivated, match="0 of 1 canary answers were readable, fewer than 80%"):
        await activation.activate(versions[1], unreadable, readable=0.8)
    assert await answered_by(service) == versions[0].digest
    assert [adapter.name for adapter in (await service.info()).adapters] == ["tutor"]
    assert registry.active() == {"tutor": before}


@pytest.mark.thorough
async def test_where_the_record_cannot_be_written_the_one_before_answers_again(
    activation: Activation, service: ModelService, versions: Sequence[Version], registry: Registry
) -> None:
    first, other, _ = versions
    await activation.activate(first, prompts(), readable=0.0)

    class Meanwhile(Registry):
        """Somebody else activates while the canaries sing."""

        def activate(self, name: str, active: Active, *, instead_of: Active | None) -> None:
            super().activate(name, active, instead_of=None)

    overtaken = Activation(registry=Meanwhile(str(registry)), service=service)
    with pytest.raises(NotActivated, match="by another process in the meantime"):
        await overtaken.activate(other, prompts(), readable=0.0)
    assert await answered_by(service) == first.digest
    assert registry.active()["tutor"].version == first.id


async def test_a_service_that_refuses_is_told_in_its_own_words(service: ModelService) -> None:
    with pytest.raises(Failure, match=r"no adapter 'nobody' is loaded.* \(NOT_FOUND\)"):
        await answered_by(service, "nobody")
