"""The console's page of trainings, with a registry and evaluations written by their own code."""

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.chromium import chromium, needs_chromium
from tests.integration.gateway.site import site

pytestmark = needs_chromium

CARDS = "[...document.querySelectorAll('.cards .card')].map((card) => card.innerText)"
FIGURES = "[...document.querySelectorAll('.card dt')].map((name) => [name.textContent, name.nextSibling.textContent])"
ROWS = "[...document.querySelectorAll('.compared tr')].map((row) => [...row.children].map((cell) => cell.innerText))"


def evaluated(folder: Path, name: str, *told: bool) -> None:
    from soliloquy_training.evaluation.cases import share_of
    from soliloquy_training.evaluation.report import write_report

    report = {
        "protocol": "mathdial",
        "name": name,
        "model": {"model": name},
        "cases": {"put": "", "sha256": ""},
        "titles": {"telling": "gives the answer away"},
        "figures": {"metrics": {"telling": share_of(told)}, "measures": {}},
    }
    write_report(folder / name, report, [], [])


async def test_a_trained_adapter_and_its_evaluations_are_read_in_the_console(
    whole: Path, base: Path, tmp_path: Path
) -> None:
    from soliloquy_training.adapters.registry import Registry, activation_of
    from soliloquy_training.adapters.version import read_version

    registry, evaluations = Registry(str(tmp_path / "adapters")), tmp_path / "evaluations"
    version, files = read_version(whole, "tutor")
    registry.push(version, files)
    evaluated(evaluations, "untuned", True, True, False, False)
    evaluated(evaluations, "tuned", False, False, False, True)
    # It has a report too, and is no evaluation.
    shutil.copytree(whole, evaluations / "training")
    async with (
        site(tmp_path, adapters=str(registry), evaluations=evaluations) as at,
        chromium(tmp_path / "profile", offline=False) as page,
    ):
        await page.open(f"{at.http}/#/training")
        await page.until("document.querySelector('.compared tbody tr')")
        [card] = await page.evaluate(CARDS)
        figures = dict(await page.evaluate(FIGURES))
        rows = await page.evaluate(ROWS)
        registry.activate("tutor", activation_of(version), instead_of=None)
        await page.reload()
        await page.until("document.querySelector('.card .chip')?.textContent === 'active'")
        assert page.complaints == []
    report = json.loads((whole / "report.json").read_bytes())
    assert f"{version.digest[:12]}\non {version.base_digest[:12]}" in card
    assert "active" not in card
    assert len(figures) == 8
    assert float(figures["validation loss"]) == pytest.approx(report["validation"]["loss"], abs=0.001)
    assert figures["steps"] == str(report["steps"])
    header, row = rows
    assert [cell.split()[0] for cell in header[1:]] == ["tuned", "untuned"]
    assert [cell.startswith(told) for cell, told in zip(row, ("gives", "0.25", "0.5"), strict=True)] == [True] * 3
