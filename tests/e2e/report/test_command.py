"""`soliloquy report`: what it leaves in a dataset's folder, and what it says when it cannot."""

from pathlib import Path

from tests.cases import each_case
from tests.datasets import accepted_rows, written
from tests.e2e.runs import SOLILOQUY, said
from tests.unit.dataset.test_statistics import conversation


def test_a_card_that_is_there_is_left_alone(tmp_path: Path) -> None:
    folder = written(tmp_path, [("accepted/00000.parquet", accepted_rows([conversation()]))])
    assert said([SOLILOQUY, "report", str(folder)]).returncode == 0
    card = folder / "README.md"
    assert "# Tutoring conversations on physics problems" in card.read_text("utf-8").splitlines()
    card.write_text("my own words", "utf-8")
    assert said([SOLILOQUY, "report", str(folder), "--out", str(folder / "other.html")]).returncode == 0
    assert card.read_text("utf-8") == "my own words"
    assert (folder / "other.html").read_bytes() == (folder / "report.html").read_bytes()


def test_an_earlier_report_is_replaced_and_no_other_file(tmp_path: Path) -> None:
    folder = written(tmp_path / "dataset", [("accepted/00000.parquet", accepted_rows([conversation()]))])
    page, own = tmp_path / "page.html", tmp_path / "own.html"
    own.write_text("<!doctype html><title>my page</title>", "utf-8")
    for _ in range(2):
        assert said([SOLILOQUY, "report", str(folder), "--out", str(page)]).returncode == 0
    refused = said([SOLILOQUY, "report", str(folder), "--out", str(own)])
    assert (refused.returncode, f"{own} exists: choose another file" in refused.stderr) == (2, True)
    assert own.read_text("utf-8").endswith("<title>my page</title>")


@each_case
def test_what_cannot_be_done_is_one_line(tmp_path: Path, manifest: bool, out: str | None, complaint: str) -> None:
    if manifest:
        written(tmp_path, [])
    result = said([SOLILOQUY, "report", str(tmp_path), *(["--out", str(tmp_path / out)] if out else [])])
    assert (result.returncode, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert complaint in line
    assert not (tmp_path / "report.html").exists()
