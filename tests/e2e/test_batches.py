"""A run by batch comes to the bytes of one that asks at once, and pays for each answer once, whatever happens."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.batches import (
    BATCH_FAULTS,
    DIALECT_OF,
    batch_sizes,
    billed_once,
    by_batch,
    fullness,
    in_batches,
    killed_again_and_again,
    spoken,
)
from tests.e2e.hosted import fake, invoice, priced
from tests.e2e.runs import SOLILOQUY, command, dataset, grown, run, start
from tests.integration.model.serving import free_port

CONVERSATIONS = 12
SIZE = 4
KILLS = 3


# Kills and budgets meet each form once: `tests/unit/runtime/model/test_batches.py` has every fault in both.
@pytest.mark.thorough
def test_a_run_by_batch_that_is_killed_again_and_again_is_that_of_single_requests_and_pays_once(tmp_path: Path) -> None:
    form = "files"
    dialect = f"--dialect={DIALECT_OF[form]}"
    with fake(dialect) as url:
        grown(tmp_path / "online", conversations=CONVERSATIONS, model_settings=spoken(priced(tmp_path, url), form))
    with fake(dialect, "--batch-latency", "200ms", *BATCH_FAULTS) as url:
        settings = spoken(in_batches(tmp_path, url, size=SIZE, age=1.5), form)
        arguments = by_batch(tmp_path / "out", settings, CONVERSATIONS)
        killed_again_and_again(arguments, KILLS, seconds=4.0, seed=1)
        billed_once(url, tmp_path / "out")
        assert fullness(batch_sizes(url, form), SIZE) > 0.7
    assert dataset(tmp_path / "out") == dataset(tmp_path / "online")


@pytest.mark.thorough
def test_a_run_out_of_budget_takes_in_its_batches_and_a_higher_one_pays_for_none_of_them_again(tmp_path: Path) -> None:
    budget, form = 12_000, "messages"
    with fake(f"--dialect={DIALECT_OF[form]}", "--batch-latency", "400ms") as url:
        settings = spoken(in_batches(tmp_path, url, size=SIZE, age=0.5), form)
        chosen: dict[str, Any] = {"conversations": 4, "in_flight": 4, "model_settings": settings}
        stopped = run(command(tmp_path / "out", budget_tokens=budget, **chosen))
        lines = invoice(url)
        assert stopped.returncode == 1, stopped.stderr
        assert "the same command with a higher budget goes on from here" in stopped.stderr
        # No batch is left at the endpoint whose answers are not in the account.
        spent = json.loads(stopped.stdout)["spent"]
        assert (spent["requests"], spent["lost"]["requests"]) == (len(lines), 0)
        tokens = spent["prompt"] + spent["completion"]
        assert tokens >= budget
        assert f"the budget of {budget:,} tokens is used up ({tokens:,} tokens spent)" in stopped.stderr
        grown(tmp_path / "out", budget="900USD", **chosen)
        billed_once(url, tmp_path / "out")
        grown(tmp_path / "whole", **chosen)
    assert dataset(tmp_path / "out") == dataset(tmp_path / "whole")


@pytest.mark.thorough
def test_a_run_exports_what_waits_in_batches_for_top_and_dashboards(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with fake("--batch-latency", "300ms") as url:
        settings = in_batches(tmp_path, url, size=3, age=0.5)
        arguments = by_batch(tmp_path / "out", settings, 3, in_flight=3, metrics=address)
        with start(arguments) as process:
            calls: dict[str, Any] = {"batches": 0}
            while not calls["batches"]:
                assert process.poll() is None, process.communicate()
                shown = run([SOLILOQUY, "top", address, "--once", "--json", "--every", "100ms"])
                calls = json.loads(shown.stdout)["calls"] if shown.returncode == 0 else calls
            assert 0 < calls["batched"] <= 3 * calls["batches"]
            assert process.wait() == 0


def test_roles_that_answer_at_once_mix_with_those_in_batches(tmp_path: Path) -> None:
    with fake("--batch-latency", "100ms") as url:
        settings = Path(in_batches(tmp_path, url, size=3, age=0.5))
        single = Path(priced(tmp_path, url)).read_text("utf-8").replace("endpoints.hosted", "endpoints.quick")
        roles = "".join(f'[roles.{role}]\nendpoint = "quick"\n' for role in ("tutor", "codegen", "composer"))
        settings.write_text(f'endpoint = "hosted"\n{settings.read_text("utf-8")}{single}{roles}', "utf-8")
        grown(tmp_path / "out", conversations=2, model_settings=str(settings))
        billed_once(url, tmp_path / "out")
        by_batch_alone = sum(batch_sizes(url, "files"))
        students = [line for line in invoice(url) if "student" in line["state"]]
    assert by_batch_alone == len(students) > 0
