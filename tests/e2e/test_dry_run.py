"""A dry run foretells the whole run from its first conversations, which are not paid for twice."""

from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from tests.e2e.hosted import fake, invoice, priced
from tests.e2e.runs import command, grown, records, said

PILOT, WANTED = 4, 10


def test_a_pilot_foretells_tokens_and_money_and_is_the_beginning_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy.cli.generate.PILOT", PILOT)
    with fake("--prefix-cache", "1024") as url:
        chosen: dict[str, Any] = {"conversations": WANTED, "model_settings": priced(tmp_path, url)}
        told = grown(tmp_path / "out", dry_run=True, **chosen)
        billed, pilot = len(invoice(url)), records(tmp_path / "out")
        whole = grown(tmp_path / "out", **chosen)
        calls = len(invoice(url))
        again = grown(tmp_path / "none", dry_run=True, like=str(tmp_path / "out"), **chosen)
        assert len(invoice(url)) == calls
    assert records(tmp_path / "out")[: len(pilot)] == pilot
    assert (len(pilot), told["problems"], told["accepted"]) == (PILOT, str(PILOT), str(PILOT))
    assert 0 < billed < calls * 2 / 3
    # A few conversations differ in length.
    assert told["prompt_tokens"]["expected"] == pytest.approx(whole["tokens"]["prompt"], rel=0.25)
    assert told["dollars"]["expected"] == pytest.approx(whole["cost"], rel=0.25)
    # Told from the run itself, it is right to the last token but for what the cache held at first.
    assert again["prompt_tokens"]["expected"] == pytest.approx(whole["tokens"]["prompt"], rel=1e-6)
    assert again["dollars"]["expected"] == pytest.approx(whole["cost"], rel=0.05)
    assert not (tmp_path / "none").exists()
    assert any(name.endswith("/student") for name in again["prompts"])


def test_it_is_printed_for_people_with_the_first_prompts_and_what_a_budget_allows(tmp_path: Path) -> None:
    grown(tmp_path / "known", conversations=1)
    wanted = command(tmp_path / "out", conversations=600, dry_run=True, like=str(tmp_path / "known"))
    shown = said([one for one in wanted if one != "--json"] + ["--budget-tokens", "1000000"])
    assert shown.returncode == 0, shown.stderr
    assert "--- soliloquy/student\n[system]\n" in shown.stdout
    assert "For 600 conversations, 64 at once, from 1 accepted ones about 1 problems" in shown.stdout
    assert "The budget of 1,000,000 tokens is enough for about " in shown.stdout


@each_case
def test_what_cannot_be_foretold_is_said_before_a_call(tmp_path: Path, options: dict[str, Any], complaint: str) -> None:
    refused = said(command(tmp_path / "out", **options))
    assert refused.returncode == 2 or complaint.startswith("nowhere")
    assert complaint in " ".join(refused.stderr.split())
    assert not (tmp_path / "out").exists()
