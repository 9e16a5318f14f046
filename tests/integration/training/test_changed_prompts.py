"""A training reads the prompts that its dataset was generated with."""

from pathlib import Path

from soliloquy.dataset.manifest import shards_of, write_manifest
from soliloquy.dataset.prompts import write_prompts
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.storage import Storage
from soliloquy.recipes.prompts import own_files
from soliloquy_training.data import prepare
from soliloquy_training.templating import Template, load_tokenizer
from tests.integration.training.conftest import SETTINGS
from tests.unit.training.growing import conversations, dataset


def text_learned(data: Path, base: Path, folder: Path) -> str:
    prepared = prepare(folder, str(data), SETTINGS, Template(base), lambda _: None)
    rows = [prepared.row([number]) for number in (*prepared.training, *prepared.held_out)]
    return "".join(load_tokenizer(base).decode(row.ids.flatten().tolist()) for row in rows)


def test_a_sample_has_the_run_s_prompts_and_not_the_installed_ones(base: Path, tmp_path: Path) -> None:
    data = dataset(tmp_path / "data", conversations(2))
    assert "calculation needed" in text_learned(data, base, tmp_path / "own")
    manifest, place = Dataset(data).manifest, Storage(data)
    texts = {path.name: path.read_text("utf-8") for path in own_files("soliloquy").values()}
    texts["deciding.txt"] = texts["deciding.txt"].replace("calculation needed", "computation wanted")
    write_manifest(place, manifest, [*shards_of(manifest, "accepted"), *write_prompts(place, texts)])
    learned = text_learned(data, base, tmp_path / "changed")
    assert "computation wanted" in learned
    assert "calculation needed" not in learned
