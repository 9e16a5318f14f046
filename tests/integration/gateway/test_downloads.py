"""Reports and exports of a run, made by the library when somebody downloads them."""

import asyncio
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.dataset.reading import Dataset
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.collector.journal import collected_now
from soliloquy_services.gateway.http.downloads import DownloadLimits
from tests.datasets import accepted_rows, rejected_rows, written
from tests.integration.gateway.site import READER, Site, guarded, site
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.unit.dataset.small import small

# The process that makes a file goes after all others of a busy machine.
ROOMY = {"conversations": 100, "bytes": 10_000_000, "seconds": 250, "at_once": 1}


def fill(folder: Path, run: str, number: int = 3) -> Dataset:
    rows = accepted_rows([small(one) for one in range(1, number + 1)])
    return Dataset(written(folder / "data" / run, [("accepted/00000.parquet", rows)]))


def limit(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    monkeypatch.setattr("soliloquy_services.gateway.http.downloads.LIMITS", DownloadLimits(**(ROOMY | limits)))


async def test_an_export_has_the_bytes_that_the_command_writes(tmp_path: Path) -> None:
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        dataset = fill(tmp_path, run)
        for name, suffix in (("openai", ".jsonl"), ("soliloquies", ".json")):
            answer = await at.ask("GET", f"/v1/runs/{run}/exports/{name}")
            assert answer.headers["content-disposition"] == f'attachment; filename="{run}-{name}{suffix}"'
            export(dataset, name, tmp_path / f"{name}{suffix}", choice=ExportOptions())
            assert answer.body == (tmp_path / f"{name}{suffix}").read_bytes()
            assert answer.headers["content-length"] == str(len(answer.body))


async def test_a_format_that_is_a_folder_comes_as_one_file(tmp_path: Path) -> None:
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        fill(tmp_path, run)
        answer = await at.ask("GET", f"/v1/runs/{run}/exports/hf")
        names = zipfile.ZipFile(BytesIO(answer.body)).namelist()
    assert any(name.endswith(".arrow") for name in names)


async def test_a_report_is_a_page_that_is_saved_and_not_shown_by_the_gateway(tmp_path: Path) -> None:
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        fill(tmp_path, run)
        answer = await at.ask("GET", f"/v1/runs/{run}/report")
        head = await at.ask("HEAD", f"/v1/runs/{run}/report")
    assert answer.body.startswith(b"<!doctype html>")
    for each in (answer, head):
        assert each.headers["content-disposition"] == f'attachment; filename="{run}-report.html"'
    assert answer.headers["content-type"] == "application/octet-stream"


async def test_a_run_in_a_table_has_a_report_exports_and_conversations_and_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = catalog_in(tmp_path, monkeypatch)
    async with site(tmp_path, datasets=str(location)) as at:
        run = await at.start()
        missing = await at.ask("GET", f"/v1/runs/{run}/report")
        assert f"run {run} has no dataset to download: no conversation of it is written yet" in str(missing.body)
        TableWriter(location).append([(run, collected_now(in_run(run, number), [], None)) for number in range(1, 4)])
        report = await at.ask("GET", f"/v1/runs/{run}/report")
        exported = await at.ask("GET", f"/v1/runs/{run}/exports/openai")
        files = await at.ask("GET", f"/v1/runs/{run}/files")
    assert report.body.startswith(b"<!doctype html>")
    assert len(exported.body.splitlines()) == 3
    assert files.body == {"files": []}


def in_run(run: str, number: int) -> Conversation:
    made = small(number)
    made.run.CopyFrom(Run(id=run, recipe=made.run.recipe))
    return made


async def test_every_format_that_is_offered_is_known(tmp_path: Path) -> None:
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        offered = (await at.ask("GET", "/v1/choices")).body["formats"]
        unknown = await at.ask("GET", f"/v1/runs/{await at.start()}/exports/nothing")
    recipes = {each["name"]: each["recipe"] for each in offered}
    assert (recipes["openai"], recipes["mathdial"]) == ("", "mathdial")
    assert (unknown.status, unknown.message.startswith("there is no format 'nothing': use one of ")) == (404, True)


async def refused(at: Site, path: str) -> tuple[int, str]:
    answer = await at.ask("GET", path)
    return answer.status, answer.message


async def test_what_cannot_be_downloaded_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, conversations=2)
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        report = f"/v1/runs/{run}/report"
        missing = f"run {run} has no dataset to download: no conversation of it is written yet"
        assert await refused(at, report) == (404, missing)
        fill(tmp_path, run)
        too_large = (
            f"run {run} has 3 conversations, and a download at most 2: run `soliloquy report DIR` where its dataset is"
        )
        assert await refused(at, report) == (400, too_large)
        assert (await at.ask("GET", "/v1/runs/nobody/report")).status == 404
    async with site(tmp_path) as at:
        status, message = await refused(at, f"/v1/runs/{run}/report")
    assert (status, message.endswith("the gateway sees no datasets")) == (404, True)


async def test_what_the_library_refuses_is_told_without_the_folder(tmp_path: Path) -> None:
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        rows = rejected_rows([(small(1), ["length: turn 1: long"])])
        written(tmp_path / "data" / run, [("rejected/00000.parquet", rows)])
        status, message = await refused(at, f"/v1/runs/{run}/exports/openai")
    assert status == 503
    because = f"run {run} holds no accepted conversations to export"
    assert message == f"run {run} cannot be written as openai ({because})"


@pytest.mark.parametrize("limits", [pytest.param({"bytes": 1_000}, marks=pytest.mark.thorough), {"seconds": 0}])
async def test_a_file_that_grows_too_large_or_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    limit(monkeypatch, **limits)
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        fill(tmp_path, run)
        assert (await at.ask("GET", f"/v1/runs/{run}/report")).status == 503


async def test_more_than_a_few_downloads_at_once_are_told_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, at_once=1)
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        fill(tmp_path, run)
        answers = await asyncio.gather(*(at.ask("GET", f"/v1/runs/{run}/report") for _ in range(3)))
        assert sorted(answer.status for answer in answers) == [200, 429, 429]
        assert {answer.headers["retry-after"] for answer in answers if answer.status == 429} == {"5"}
        assert (await at.ask("GET", f"/v1/runs/{run}/report")).status == 200


async def test_a_reader_may_download_and_a_stranger_may_not(tmp_path: Path) -> None:
    async with site(tmp_path, admitting=guarded(tmp_path), datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        fill(tmp_path, run)
        assert (await at.ask("GET", f"/v1/runs/{run}/exports/openai", token=READER)).status == 200
        for path in (f"/v1/runs/{run}/report", f"/v1/runs/{run}/exports/openai"):
            assert (await at.ask("GET", path)).status == 401
            elsewhere = await at.ask("GET", path, token=READER, headers={"origin": "http://other.example"})
            assert elsewhere.status == 403
