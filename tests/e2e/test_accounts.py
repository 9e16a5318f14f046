"""What a run says that it was billed is what the endpoint billed, to the last token, whatever happens on the way."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from soliloquy.runtime.model.costs import KINDS
from tests.e2e.hosted import fake, invoice, priced
from tests.e2e.runs import (
    command,
    dataset,
    grown,
    kill,
    kill_run,
    said,
    start,
    wait_for_end,
    wait_for_frames,
    worker_pids,
)

FAULTS = [f"--fault={fault}" for fault in ("throttled=0.1", "failed=0.1", "truncated=0.05", "malformed=0.05")]


def spent(out: Path) -> list[dict[str, Any]]:
    manifest = json.loads((out / "manifest.json").read_bytes())
    return list(manifest["arrival"]["spent"])


def tokens(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    total: Counter[str] = Counter(requests=0)
    for row in rows:
        total.update({kind: row.get(kind, 0) for kind in KINDS} | {"requests": row.get("requests", 1)})
    return total


def assert_equal_to_the_last_token(lines: list[dict[str, Any]], accounts: list[dict[str, Any]]) -> None:
    """Of answers that got lost nobody knows the tokens; no more are missing than are said to be."""
    known = [row for row in accounts if row["outcome"] != "lost"]
    lost = sum(row["requests"] for row in accounts if row["outcome"] == "lost")
    difference = tokens(lines)
    difference.subtract(tokens(known))
    assert min(difference.values()) >= 0, difference
    assert 0 <= difference["requests"] <= lost
    if not lost:
        assert not any(difference.values()), difference


@pytest.mark.parametrize("dialect", [pytest.param("openai-reasoning", marks=pytest.mark.thorough), "anthropic"])
def test_the_invoice_is_the_account_to_the_last_token_in_each_dialect(tmp_path: Path, dialect: str) -> None:
    with fake("--noise", "real", "--dialect", dialect, "--prefix-cache", "256") as url:
        told = grown(tmp_path / "out", conversations=1, model_settings=priced(tmp_path, url))
        lines = invoice(url)
    accounts = spent(tmp_path / "out")
    assert_equal_to_the_last_token(lines, accounts)
    assert told["spent"]["lost"]["requests"] == 0
    assert told["spent"]["cached"] == tokens(lines)["cached"]
    # Anthropic's caches hold what a mark says, and its chat completions have none.
    assert bool(told["spent"]["cached"]) == (dialect != "anthropic")
    used = told["spent"]
    dollars = 2 * (used["prompt"] - used["cached"]) + 0.5 * used["cached"] + 8 * used["completion"]
    assert used["dollars"] == pytest.approx(dollars / 1e6)
    # A conversation that was under way when the last one was accepted is in no dataset.
    assert all(told["tokens"][kind] <= used[kind] for kind in KINDS)


@pytest.mark.thorough
def test_answers_that_get_lost_on_their_way_are_said_to_be_lost(tmp_path: Path) -> None:
    with fake(*FAULTS, "--retry-after", "0") as url:
        grown(tmp_path / "out", conversations=5, model_settings=priced(tmp_path, url))
        lines = invoice(url)
    accounts = spent(tmp_path / "out")
    arrived = [line for line in lines if line["arrives"]]
    assert tokens(arrived) == tokens(row for row in accounts if row["outcome"] != "lost")
    assert len(lines) - len(arrived) == sum(row["requests"] for row in accounts if row["outcome"] == "lost") > 0


@pytest.mark.thorough
def test_a_run_that_is_killed_again_and_again_counts_nothing_twice(tmp_path: Path) -> None:
    with fake("--latency", "60ms") as url:
        chosen: dict[str, Any] = {"conversations": 6, "model_settings": priced(tmp_path, url)}
        for frames in (1, 3):
            process = start(command(tmp_path / "out", in_flight=4, **chosen))
            wait_for_frames(tmp_path / "out", frames, process)
            [worker] = worker_pids(process.pid)
            kill(worker)
            wait_for_end(kill_run(process))
        grown(tmp_path / "out", **chosen)
        lines = invoice(url)
        grown(tmp_path / "whole", **chosen)
    assert_equal_to_the_last_token(lines, spent(tmp_path / "out"))
    assert sum(row["requests"] for row in spent(tmp_path / "out") if row["outcome"] == "lost") > 0
    assert dataset(tmp_path / "out") == dataset(tmp_path / "whole")


def test_without_a_price_the_cost_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    with fake() as url:
        told = grown(tmp_path / "out", conversations=1, model="openai", base_url=url)
        again = command(tmp_path / "out", conversations=1, model="openai", base_url=url)
        shown = said([one for one in again if one != "--json"])
    assert told["cost"] is None
    assert told["unpriced"] == ["codegen", "composer", "student", "tutor"]
    assert json.loads((tmp_path / "out" / "manifest.json").read_bytes())["prices"] == {"openai": None}
    assert "unknown, no price is known for codegen, composer, student, tutor" in " ".join(shown.stdout.split())


def test_a_budget_stops_a_run_within_the_requests_in_flight_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    budget, in_flight = 20_000, 2
    with fake("--latency", "10ms") as url:
        chosen: dict[str, Any] = {"conversations": 2, "in_flight": in_flight, "model_settings": priced(tmp_path, url)}
        stopped = said(command(tmp_path / "out", budget_tokens=budget, **chosen))
        billed = invoice(url)
        assert grown(tmp_path / "out", budget="900USD", **chosen)["accepted"] == 2
        lines = invoice(url)
    assert stopped.returncode == 1, stopped.stderr
    assert f"the budget of {budget:,} tokens" in stopped.stderr
    assert "the same command with a higher budget goes on from here" in stopped.stderr
    each = [line["prompt"] + line.get("completion", 0) for line in lines]
    assert budget / 3 < sum(each[: len(billed)]) <= budget + in_flight * max(each)
    assert_equal_to_the_last_token(lines, spent(tmp_path / "out"))


@pytest.mark.thorough
def test_a_run_out_of_budget_does_not_wait_for_the_answers_to_a_killed_worker(tmp_path: Path) -> None:
    answer_seconds = 300.0
    with fake("--latency", "200ms") as url:
        settings = Path(priced(tmp_path, url))
        settings.write_text(f"{settings.read_text('utf-8')}timeout = {answer_seconds}\n", "utf-8")
        limited = command(tmp_path / "out", in_flight=4, budget_tokens=30_000, model_settings=str(settings))
        with start(limited) as process:
            while len(invoice(url)) < 4:
                assert process.poll() is None, process.communicate()
            [worker] = worker_pids(process.pid)
            kill(worker)
            _, told = process.communicate(timeout=answer_seconds / 3)
        assert "the budget of 30,000 tokens" in told
        grown(tmp_path / "out", budget="900USD", model_settings=str(settings))
        lines = invoice(url)
    assert_equal_to_the_last_token(lines, spent(tmp_path / "out"))
