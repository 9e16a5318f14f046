"""Problem files that people bring to a gateway: checked by line, kept under their names, and run from."""

import json
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runs.gateway import Plans
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.refusals import Code, Refusal
from tests.integration.gateway.site import Site

PENS = {"question": "Tom has 3 boxes of 12 pens. How many pens?", "answer": "3 * 12 = <<3*12=36>>36\n#### 36"}
JAR = {"question": "How many marbles fit in the jar?", "solution": "It depends. About 10."}


def plans(files: Path | None) -> Plans:
    return Plans(models=shipped_models(), noise="none", files=files)


def lines(*rows: Any) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_a_file_without_faults_is_a_source_of_runs_with_what_rests_on_nothing_told(tmp_path: Path) -> None:
    # The folder comes with its first file.
    planned = plans(tmp_path / "problems")
    added = planned.add("mine.jsonl", lines(PENS, JAR), "")
    assert (added.name, added.problems, added.faults) == ("mine.jsonl", 2, [])
    assert [doubt.partition(":")[0] for doubt in added.open] == ["2"]
    source = planned.problems(RunRequest(recipe="soliloquy", problems="mine.jsonl", conversations=1), "")
    assert source.problem(0, 0).answer.value == 36


def test_a_file_with_faults_is_not_kept_and_each_is_told_by_its_line(tmp_path: Path) -> None:
    planned = plans(tmp_path)
    added = planned.add("mine.jsonl", lines(PENS, {"question": "And?"}, PENS), "")
    assert (added.name, added.problems) == ("", 0)
    assert [fault.partition(" ")[0] for fault in added.faults] == ["2:", "3:"]
    assert not [*tmp_path.iterdir()]
    assert planned.add("empty.jsonl", "", "").faults == ["1: question: the file contains no problem"]


def test_a_name_keeps_its_content_because_runs_read_it_again(tmp_path: Path) -> None:
    planned = plans(tmp_path)
    assert planned.add("mine.jsonl", lines(PENS), "") == planned.add("mine.jsonl", lines(PENS), "")
    with pytest.raises(Refusal, match=r"there is another file mine\.jsonl: send yours under another name") as refused:
        planned.add("mine.jsonl", lines(JAR), "")
    assert refused.value.code == Code.EXISTS
    assert (tmp_path / "mine.jsonl").read_text("utf-8") == lines(PENS)


def test_a_tenants_file_is_its_own(tmp_path: Path) -> None:
    planned = plans(tmp_path)
    assert planned.add("mine.jsonl", lines(PENS), "physics").name == "physics/mine.jsonl"
    assert planned.add("mine.jsonl", lines(JAR), "chemistry").name == "chemistry/mine.jsonl"
    files = [one.name for one in planned.offered("physics") if one.kind == "file"]
    assert files == ["physics/mine.jsonl"]


def test_a_folder_that_nothing_can_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refusal, match=r"mine\.jsonl cannot be kept \(Not a directory\)") as refused:
        plans(tmp_path / "file" / "problems").add("mine.jsonl", lines(PENS), "")
    assert refused.value.code == Code.UNAVAILABLE


@pytest.mark.parametrize(
    "name", ["", "../mine.jsonl", ".mine.jsonl", "mine.csv", "a/b.jsonl", "mine.jsonl\n", "ü.jsonl"]
)
async def test_only_a_plain_name_of_a_problem_file_is_one(open_site: Site, name: str) -> None:
    refused = await open_site.ask("POST", "/v1/problems", {"name": name, "text": lines(PENS)})
    assert (refused.status, refused.message.partition(":")[0]) == (400, "name")


async def test_a_gateway_without_a_folder_says_what_to_start_it_with(open_site: Site) -> None:
    refused = await open_site.ask("POST", "/v1/problems", {"name": "mine.jsonl", "text": lines(PENS)})
    assert (refused.status, refused.code) == (409, "not_now")
    assert refused.message == "this gateway keeps no problem files: start it with --problem-files DIR"
