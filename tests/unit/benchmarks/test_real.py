"""`python -m benchmarks real` counts what a real model was asked, and nothing of the scripted one beside it."""

import json
from pathlib import Path

from click.testing import CliRunner

from benchmarks.real import SendingBack, real
from benchmarks.real_grid import Cell, cells
from benchmarks.real_servers import Served
from tests.e2e.hosted import fake
from tests.e2e.runs import grown


def test_a_mixture_counts_the_calls_of_its_real_role_alone_and_each_of_them_once(tmp_path: Path) -> None:
    cell = Cell(recipe="soliloquy", role="student", grammar=True)
    with fake("--noise", "real") as url:
        settings = tmp_path / "cell.toml"
        settings.write_text(cell.settings(Served(model="scripted", url=url)))
        report = grown(tmp_path / "llama-cpp" / cell.name, conversations=3, model_settings=settings)
    printed = CliRunner().invoke(real, [str(tmp_path), "--json"], catch_exceptions=False)
    figures = json.loads(printed.stdout)
    [ended] = figures["conversations"]
    assert (ended["recipe"], ended["grammar"], ended["accepted"]) == ("soliloquy", "grammar", report["accepted"])
    students = [row for row in figures["answers"] if row["role"] == "student"]
    assert {row["role"] for row in figures["answers"]} == {"student", "all"}
    assert sum(row["asked"] for row in students) == ended["calls"] >= report["turns"]
    for row in figures["answers"]:
        assert row["asked"] == row["strict"] + row["repaired"] + row["asked again"] + row["unusable"]


def test_a_label_is_found_by_what_was_sent_back_and_why() -> None:
    one = SendingBack("drawn", "student", "It's 4.", "it is right", ("What is 2 + 2?",))
    assert one.digest != one._replace(because="it is wrong").digest
    assert len(one.digest) == 16


def test_the_grid_has_each_role_of_each_recipe_with_and_without_a_grammar() -> None:
    names = [cell.name for cell in cells(["soliloquy", "mathwell"], mixtures=True)]
    assert len(names) == len({*names}) == 2 * (6 + 3)
    assert names[:2] == ["soliloquy-all-grammar", "mathwell-all-grammar"]
