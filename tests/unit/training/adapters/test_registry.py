"""The registry: what is kept is whole and what it says it is, wherever it lies."""

import re
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_training.adapters.registry import NotActivated, Registry, activation_of
from soliloquy_training.adapters.version import read_version
from tests.unit.training.adapters.folders import BASE, DATA, adapter, training


@pytest.fixture(params=["folder", "object store"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Registry:
    where = str(tmp_path / "registry") if request.param == "folder" else f"memory://{uuid.uuid4().hex}"
    return Registry(where)


def test_what_is_pushed_comes_back_byte_for_byte(registry: Registry, tmp_path: Path) -> None:
    version, files = read_version(training(tmp_path / "trained"), "tutor")
    assert registry.push(version, files)
    assert registry.versions() == [version]
    assert registry.find("tutor") == version == registry.find(version.id)
    folder = registry.path(version, tmp_path / "cache")
    for name in ("adapter_model.safetensors", "adapter_config.json", "README.md"):
        assert (folder / name).read_bytes() == (files / name).read_bytes()
    assert (version.base_digest, version.data_digest) == (BASE, DATA)
    assert version.metrics["validation"]["loss"] == 0.25
    # A second push of the same weights changes nothing.
    assert not registry.push(version, files)


def test_what_is_noted_of_a_version_stays_with_it_and_changes_nothing_else(registry: Registry, tmp_path: Path) -> None:
    version, files = read_version(adapter(tmp_path / "made"), "tutor")
    registry.push(version, files)
    registry.note(version, "worse than the one before")
    assert registry.versions() == [replace(version, note="worse than the one before")]
    assert not registry.push(version, files)


def test_a_copy_that_was_tampered_with_is_fetched_again(tmp_path: Path) -> None:
    registry = Registry(f"memory://{uuid.uuid4().hex}")
    version, files = read_version(adapter(tmp_path / "made"), "tutor")
    registry.push(version, files)
    copy = registry.path(version, tmp_path / "cache") / "adapter_model.safetensors"
    copy.write_bytes(b"half of it")
    registry.path(version, tmp_path / "cache")
    assert copy.read_bytes() == (files / "adapter_model.safetensors").read_bytes()
    with pytest.raises(Failure, match="is an object store: --cache must name a folder"):
        registry.path(version, None)


def test_a_name_with_several_versions_needs_more_of_the_digest(registry: Registry, tmp_path: Path) -> None:
    ids = []
    for seed in (1, 2):
        version, files = read_version(adapter(tmp_path / str(seed), seed=seed), "tutor")
        registry.push(version, files)
        ids.append(version.id)
    assert {version.id for version in registry.versions()} == set(ids)
    assert registry.find(ids[0][:9]).id == ids[0]
    for asked in ("tutor", "nobody"):
        with pytest.raises(Failure, match=f"versions in .* match '{asked}'.*{re.escape(ids[0])}"):
            registry.find(asked)


def test_the_record_holds_what_was_active_before_and_refuses_who_looked_too_early(
    registry: Registry, tmp_path: Path
) -> None:
    one, other = (read_version(adapter(tmp_path / str(seed), seed=seed), "tutor")[0] for seed in (1, 2))
    assert registry.active() == {}
    began = activation_of(one)
    registry.activate("tutor", began, instead_of=None)
    registry.activate("tutor", activation_of(other, (began.version,)), instead_of=began)
    active = registry.active()["tutor"]
    assert (active.version, active.before) == (other.id, (one.id,))
    with pytest.raises(NotActivated, match="by another process in the meantime"):
        registry.activate("tutor", began, instead_of=began)
    assert registry.active()["tutor"] == active


def test_the_adapter_of_another_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="its training made ffffffffffff"):
        read_version(training(tmp_path / "trained", adapter_digest="f" * 64), "tutor")
