"""The gateway shows the files of a run, adapters and evaluations as the code that wrote them left them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.manifest import MANIFEST, Shard, write_manifest
from soliloquy.dataset.storage import Storage
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_training.adapters.registry import Registry, activation_of
from soliloquy_training.adapters.version import Version
from soliloquy_training.evaluation.cases import share_of
from soliloquy_training.evaluation.report import write_report
from tests.datasets import accepted_rows, written
from tests.integration.gateway.site import site

SHARD = "accepted/00000.parquet"


async def test_the_files_of_a_run_are_taken_along_as_they_are(tmp_path: Path) -> None:
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        assert (await at.ask("GET", f"/v1/runs/{run}/files")).body == {"files": []}
        folder = written(
            tmp_path / "data" / run, [(SHARD, accepted_rows([Conversation(id="one"), Conversation(id="two")]))]
        )
        listed = (await at.ask("GET", f"/v1/runs/{run}/files")).body["files"]
        assert [file["name"] for file in listed] == [MANIFEST, SHARD]
        for file in listed:
            # As a browser writes it: its slash would be one of the path.
            answer = await at.ask("GET", f"/v1/runs/{run}/files/{file['name'].replace('/', '%2F')}")
            assert answer.headers["content-disposition"] == f'attachment; filename="{file["name"].replace("/", "-")}"'
            kept = folder / file["name"]
            assert answer.body == kept.read_bytes()
            assert file["size"] == len(answer.body)


async def test_whatever_a_manifest_names_nothing_outside_its_folder_is_given_out(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("only mine", "utf-8")
    async with site(tmp_path, datasets=str(tmp_path / "data")) as at:
        run = await at.start()
        shard = Shard(name="accepted/00000.parquet", rows=1, bytes=9, sha256="")
        folder = tmp_path / "data" / run
        folder.mkdir(parents=True)
        write_manifest(Storage(folder), {"run": {}, "counts": {}, "cost": {}, "arrival": {}}, [shard])
        manifest = folder / MANIFEST
        manifest.write_text(manifest.read_text("utf-8").replace(shard.name, "accepted/../../../secret"), "utf-8")
        listing = await at.ask("GET", f"/v1/runs/{run}/files")
        answer = await at.ask("GET", f"/v1/runs/{run}/files/accepted%2F..%2F..%2F..%2Fsecret")
    assert (listing.status, answer.status) == (404, 404)
    assert "is not the name of a shard" in listing.body["error"]["message"]


async def test_a_gateway_that_sees_no_datasets_has_no_files(tmp_path: Path) -> None:
    async with site(tmp_path) as at:
        run = await at.start()
        assert (await at.ask("GET", f"/v1/runs/{run}/files")).body == {"files": []}
        assert (await at.ask("GET", f"/v1/runs/{run}/files/{MANIFEST}")).status == 404


async def test_adapters_are_shown_as_the_registry_keeps_them(tmp_path: Path) -> None:
    registry, weights = Registry(str(tmp_path / "adapters")), tmp_path / "weights"
    weights.mkdir()
    for digest in ("a" * 64, "b" * 64):
        version = Version(
            name="tutor",
            digest=digest,
            base_digest="c" * 64,
            data_digest="d" * 64,
            files={},
            config={},
            metrics={"steps": 40, "validation": {"loss": 0.5}, "stopped_early": False},
            note="the better one" if digest.startswith("b") else "",
        )
        registry.push(version, weights)
    registry.activate("tutor", activation_of(version), instead_of=None)
    async with site(tmp_path, adapters=str(tmp_path / "adapters")) as at:
        old, new = (await at.ask("GET", "/v1/training")).body["adapters"]
    assert (old["digest"], old["active"], old["active_since"]) == ("a" * 64, False, "")
    assert (new["digest"], new["active"], new["note"]) == ("b" * 64, True, "the better one")
    assert new["active_since"]
    assert new["metrics"] == {"steps": 40, "validation loss": 0.5}


async def test_evaluations_are_shown_as_their_reports_tell_them(tmp_path: Path) -> None:
    share = share_of([True, True, False])
    report = {
        "protocol": "mathdial",
        "name": "tuned",
        "cases": {"put": "", "sha256": ""},
        "model": {"model": "tiny (ray)"},
        "titles": {"right": "says what is right", "bleu": "BLEU", "empty": "of no case"},
        "figures": {
            "metrics": {"right": share, "empty": share_of([])},
            "measures": {"bleu": 12.5, "likeness": None},
        },
    }
    write_report(tmp_path / "evaluations" / "tuned", report, [], [])
    (tmp_path / "evaluations" / "unfinished").mkdir()
    async with site(tmp_path, evaluations=tmp_path / "evaluations") as at:
        [found] = (await at.ask("GET", "/v1/training")).body["evaluations"]
    assert (found["name"], found["protocol"], found["model"]) == ("tuned", "mathdial", "tiny (ray)")
    assert found["metrics"] == {
        "says what is right": {"value": share["share"], "low": share["low"], "high": share["high"]},
        "BLEU": {"value": 12.5, "low": None, "high": None},
    }


FORGED: dict[str, Any] = {
    "no JSON": "{",
    "brackets": "[" * 9_999,
    "a list": "[7]",
    "texts for figures": {"figures": {"metrics": "none"}},
    "a share of text": {"figures": {"metrics": {"right": {"share": "all", "low": 0, "high": 1}}}},
    "a figure that JSON lacks": {"figures": {"metrics": {}, "measures": {"bleu": float("nan")}}},
    "no name": {"name": None},
    "no model": {"model": []},
    "a list of titles": {"titles": ["BLEU"]},
}


@pytest.mark.parametrize("kind", FORGED)
async def test_a_forged_report_is_named_and_hides_no_other(tmp_path: Path, kind: str) -> None:
    report = {
        "protocol": "mathdial",
        "name": "tuned",
        "cases": {"put": "", "sha256": ""},
        "model": {"model": "tiny (ray)"},
        "titles": {},
        "figures": {"metrics": {}, "measures": {"bleu": 12.5}},
    }
    content = FORGED[kind]
    write_report(tmp_path / "evaluations" / "sound", report, [], [])
    (tmp_path / "evaluations" / "forged").mkdir()
    (tmp_path / "evaluations" / "forged" / "report.json").write_text(
        content if isinstance(content, str) else json.dumps(report | content), "utf-8"
    )
    async with site(tmp_path, evaluations=tmp_path / "evaluations") as at:
        answer = (await at.ask("GET", "/v1/training")).body
    assert [found["name"] for found in answer["evaluations"]] == ["tuned"]
    [line] = answer["unreadable"]
    assert line.startswith("forged/report.json cannot be read (")


async def test_what_a_forged_registry_holds_is_named(tmp_path: Path) -> None:
    versions = tmp_path / "adapters" / "versions"
    versions.mkdir(parents=True)
    (versions.parent / "active.json").write_text("{", "utf-8")
    (versions / "tutor@1.json").write_text('{"name": ["tutor"]}', "utf-8")
    (tmp_path / "evaluations" / "forged").mkdir(parents=True)
    os.mkfifo(tmp_path / "evaluations" / "forged" / "report.json")
    async with site(tmp_path, adapters=str(versions.parent), evaluations=tmp_path / "evaluations") as at:
        answer = (await at.ask("GET", "/v1/training")).body
    assert [line.partition(" ")[0] for line in answer["unreadable"]] == [
        "active.json",
        "versions/tutor@1.json",
        "forged/report.json",
    ]
