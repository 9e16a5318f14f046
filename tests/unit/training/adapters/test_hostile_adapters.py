"""Adapters and registries that somebody else made are refused in one line each."""

import json
import os
import pickle
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from soliloquy.runtime.failure import Failure
from soliloquy_training.adapters.registry import Registry
from soliloquy_training.adapters.version import read_version
from tests.unit.training.adapters.folders import adapter, front_matter

CONFIG, WEIGHTS, CARD = "adapter_config.json", "adapter_model.safetensors", "README.md"


class Explosive:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, ("unpickled",)


def pickled(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    for name in ("adapter_model.bin", "adapter_model.pt"):
        (folder / name).write_bytes(pickle.dumps(Explosive()))


def pickled_under_its_name(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(pickle.dumps(Explosive()))


def header(length: int, text: bytes = b"") -> Callable[[Path], object]:
    return lambda folder: (folder / WEIGHTS).write_bytes(length.to_bytes(8, "little") + text)


def tensor(**entry: object) -> Callable[[Path], object]:
    text = json.dumps({"a.lora_A.weight": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16], **entry}}).encode()
    return header(len(text), text + bytes(16))


def weights(value: float, kind: type) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        tensors = {name: each.astype(kind) for name, each in load_file(folder / WEIGHTS).items()}
        next(reversed(tensors.values()))[0, 0] = value
        save_file(tensors, folder / WEIGHTS)

    return change


def brain_floats(folder: Path) -> None:
    """Numpy has none."""
    content = np.full(4 * 8, 0x7FC0, "<u2").tobytes()
    entry = {"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, len(content)]}
    text = json.dumps({f"x.{target}.lora_A.weight": entry for target in ("q_proj",)}).encode()
    (folder / WEIGHTS).write_bytes(len(text).to_bytes(8, "little") + text + content)


def config(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        told = json.loads((folder / CONFIG).read_text("utf-8"))
        (folder / CONFIG).write_text(json.dumps(told | changes), "utf-8")

    return change


def replaced(name: str, target: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return change


def pipe(folder: Path) -> None:
    (folder / CARD).unlink()
    os.mkfifo(folder / CARD)


ADAPTERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "pickles": (pickled, "it lacks adapter_model.safetensors"),
    "a pickle in safetensors' place": (pickled_under_its_name, "cannot be read"),
    "a header of 2^63 bytes": (header(2**63), "cannot be read"),
    "a header of 90 MB that is not there": (header(90 * 1024**2), "cannot be read"),
    "a header that is no JSON": (header(4, b"\xff\xff\xff\xff"), "cannot be read"),
    "a header of brackets": (header(100_000, b"[" * 100_000), "cannot be read"),
    "a tensor of 2^60 numbers": (tensor(shape=[2**60], data_offsets=[0, 2**62]), "cannot be read"),
    "a tensor before its file": (tensor(data_offsets=[-16, 0]), "cannot be read"),
    "no shape": (tensor(shape=[]), "cannot be read"),
    "nan": (weights(float("nan"), np.float32), "numbers that are not finite"),
    "infinite halves": (weights(float("inf"), np.float16), "numbers that are not finite"),
    "nan of another type": (brain_floats, "numbers that are not finite"),
    "another rank": (config(r=8), "matrices of rank 4, and adapter_config.json says 8"),
    "a huge rank": (config(r=10**9), "says the rank 1000000000"),
    "a rank of text": (config(r=["4"]), "says the rank ['4']"),
    "modules of numbers": (config(target_modules=7), "no list of target_modules"),
    "another module": (config(target_modules=["../x"]), "no weights for ../x"),
    "deep settings": (lambda folder: (folder / CONFIG).write_text("[" * 9_999), "is not readable"),
    "huge settings": (lambda folder: os.truncate(folder / CONFIG, 2**33), "is not readable"),
    "a huge card": (lambda folder: os.truncate(folder / CARD, 2**27), "cannot be read"),
    "a link to a device": (replaced(WEIGHTS, "/dev/zero"), "it lacks adapter_model.safetensors"),
    "a link to itself": (replaced(CONFIG, CONFIG), "it lacks adapter_config.json"),
    "a pipe": (pipe, "it lacks README.md"),
    "no base": (lambda folder: (folder / CARD).write_bytes(b"\xff\xfe"), "no base_model_digest"),
    "no data": (lambda folder: (folder / CARD).write_text(front_matter(data=""), "utf-8"), "has no data_digest"),
    "cut weights": (lambda folder: os.truncate(folder / WEIGHTS, 100), "cannot be read"),
}


@pytest.mark.parametrize("kind", ADAPTERS)
def test_a_hostile_adapter_is_refused_in_one_line(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    change, words = ADAPTERS[kind]
    folder = adapter(tmp_path / "made")
    change(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Failure) as refused:
        read_version(folder, "tutor")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not Path("unpickled").exists()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 1024


@pytest.mark.parametrize("name", ["../tutor", "/tutor", "tu/tor", "", ".", "tutor\n", "tütor", "-x"])
def test_a_name_that_is_a_path_names_no_adapter(name: str, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="is not a valid adapter name"):
        read_version(adapter(tmp_path / "made"), name)


VERSIONS: dict[str, Callable[[dict[str, object]], object]] = {
    "files elsewhere": lambda entry: entry | {"files": {"../../../escaped": "0" * 64}},
    "absolute files": lambda entry: entry | {"files": {"/tmp/escaped": "0" * 64}},
    "files of no mapping": lambda entry: entry | {"files": ["README.md"]},
    "another name": lambda entry: entry | {"name": "other"},
    "a path for a name": lambda entry: entry | {"name": "../tutor"},
    "a path for a digest": lambda entry: entry | {"digest": "../../../etc"},
    "a number for a digest": lambda entry: entry | {"digest": 7},
    "metrics of text": lambda entry: entry | {"metrics": "none"},
    "an entry more": lambda entry: entry | {"run": "rm"},
    "an entry less": lambda _: {},
    "a list": lambda _: [],
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("kind", VERSIONS)
def test_a_forged_version_of_a_registry_is_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    registry = Registry(str(tmp_path / "registry"))
    version, files = read_version(adapter(tmp_path / "made"), "tutor")
    registry.push(version, files)
    [index] = (tmp_path / "registry" / "versions").iterdir()
    index.write_text(json.dumps(VERSIONS[kind](json.loads(index.read_text("utf-8")))), "utf-8")
    with pytest.raises(Failure, match="describes no version") as refused:
        registry.find("tutor")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", ["[", "[]", "7", '{"tutor": 7}', '{"tutor": {}}', "[" * 9_999, "\xff"])
def test_a_forged_record_of_what_is_active_is_refused_in_one_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "active.json").write_text(content, "latin-1")
    with pytest.raises(Failure, match="does not say what is active") as refused:
        Registry(str(tmp_path)).active()
    assert "\n" not in str(refused.value)


def test_what_is_active_under_a_name_is_a_version_of_it(tmp_path: Path) -> None:
    forged = {"tutor": {"version": "../../x", "since": "", "before": []}}
    (tmp_path / "active.json").write_text(json.dumps(forged), "utf-8")
    with pytest.raises(Failure, match="names no version for 'tutor'"):
        Registry(str(tmp_path)).active()
