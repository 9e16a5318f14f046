"""Base models that somebody else made are refused in a line before a library reads them."""

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import refuse_foreign
from soliloquy.runtime.weights import flaw_of_base, lora_ranks

# What the libraries that read them parse with Python.
CONFIG = "config.json"


def base(folder: Path) -> Path:
    folder.mkdir()
    for name in (CONFIG, "tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text("{}", "utf-8")
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def sparse(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as file:
        os.truncate(file.fileno(), 2**33)


def linked(folder: Path, name: str, target: str) -> None:
    (folder / name).unlink()
    (folder / name).symlink_to(target)


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


BASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "pickles": (pickled, "missing *.safetensors"),
    "settings of 8 GiB": (lambda folder: sparse(folder, CONFIG), "config.json cannot be read ("),
    "a tokenizer of 8 GiB": (lambda folder: sparse(folder, "tokenizer.json"), "tokenizer.json cannot be read ("),
    "a template of 8 GiB": (lambda folder: sparse(folder, "chat_template.jinja"), "chat_template.jinja cannot"),
    "words of 8 GiB": (lambda folder: sparse(folder, "merges.txt"), "merges.txt cannot be read ("),
    "deep settings": (lambda folder: (folder / CONFIG).write_text("[" * 9_999), "brackets are too deep"),
    "settings of a list": (lambda folder: (folder / CONFIG).write_text("[7]"), "config.json cannot be read ("),
    "no JSON": (lambda folder: (folder / "tokenizer_config.json").write_text("{"), "tokenizer_config.json cannot be"),
    "no text": (lambda folder: (folder / CONFIG).write_bytes(b"\xff\xfe\x00"), "config.json cannot be read ("),
    "a device": (lambda folder: linked(folder, CONFIG, "/dev/zero"), "missing config.json"),
    "weights of a device": (lambda folder: linked(folder, "model.safetensors", "/dev/zero"), "a pipe or a device"),
    "a pipe": (lambda folder: os.mkfifo(folder / "generation_config.json"), "a pipe or a device"),
    "a link to itself": (lambda folder: linked(folder, "tokenizer_config.json", "tokenizer_config.json"), "cannot be"),
}


@pytest.mark.parametrize("kind", BASES)
def test_a_hostile_base_is_refused_in_one_line_and_bounded_memory(kind: str, tmp_path: Path) -> None:
    change, words = BASES[kind]
    folder = base(tmp_path / "base")
    assert not flaw_of_base(folder)
    change(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flaw = flaw_of_base(folder)
    assert words in flaw
    assert "\n" not in flaw
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 * 1024


@pytest.mark.parametrize("config", [7, [], {}, {"peft_type": "LORA"}, {"peft_type": "IA3", "r": 4}])
def test_what_describes_no_lora_matrices_is_refused(config: object, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(ValueError, match=r"adapter_config\.json"):
        lora_ranks(tmp_path)


def test_settings_of_8_gib_are_not_read(tmp_path: Path) -> None:
    sparse(tmp_path, "adapter_config.json")
    with pytest.raises(OSError, match="more than"):
        lora_ranks(tmp_path)


@pytest.mark.parametrize("names", [[], [".hidden"], ["lost+found"], ["lock"], ["mark.json", "a", "b"]], ids=str)
def test_a_folder_that_is_empty_or_ours_is_taken(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).touch()
    refuse_foreign(tmp_path, "mark.json")
    refuse_foreign(tmp_path / "missing", "mark.json")


def test_a_folder_with_files_of_others_is_refused_by_one_of_their_names(tmp_path: Path) -> None:
    for name in ("thesis.txt", "notes.md", "lock"):
        (tmp_path / name).touch()
    with pytest.raises(Failure, match=r"is not empty: it holds notes\.md and 1 more: choose another --data"):
        refuse_foreign(tmp_path, "mark.json", option="--data")
