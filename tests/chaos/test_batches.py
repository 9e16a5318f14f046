"""Thousands of conversations by batch, killed again and again: the bytes of single requests, each answer paid once.

KILLS and CONVERSATIONS set how many; 60 and 2,000 take an hour on two cores.
"""

import os
from pathlib import Path

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
from tests.e2e.runs import dataset, grown

KILLS = int(os.environ.get("KILLS", "10"))
CONVERSATIONS = int(os.environ.get("CONVERSATIONS", "200"))
# Several batches are under way at once.
IN_FLIGHT = max(8, CONVERSATIONS // 4)
SIZE = max(2, IN_FLIGHT // 6)
# Seconds until the next kill.
SECONDS = float(os.environ.get("KILL_SECONDS", "8"))


@pytest.mark.timeout(600 + CONVERSATIONS * 2)
@pytest.mark.parametrize("form", sorted(DIALECT_OF))
def test_batches_through_kills_are_full_and_paid_once(tmp_path: Path, form: str) -> None:
    dialect = f"--dialect={DIALECT_OF[form]}"
    with fake(dialect) as url:
        grown(tmp_path / "online", conversations=CONVERSATIONS, model_settings=spoken(priced(tmp_path, url), form))
    with fake(dialect, "--batch-latency", "500ms", *BATCH_FAULTS) as url:
        settings = spoken(in_batches(tmp_path, url, size=SIZE, age=20.0), form)
        arguments = by_batch(tmp_path / "out", settings, CONVERSATIONS, in_flight=IN_FLIGHT)
        report = killed_again_and_again(arguments, KILLS, seconds=SECONDS, seed=1)
        sizes, lines = batch_sizes(url, form), len(invoice(url))
        full = fullness(sizes, SIZE)
        lost = report["spent"]["lost"]["requests"]
        print(
            f"{form}: {CONVERSATIONS:,} conversations, {KILLS} kills: {len(sizes)} batches of {SIZE}, {full:.1%} full "
            f"without the last tenth, {lines:,} requests billed, {lost:,} in batches that got lost"
        )
        billed_once(url, tmp_path / "out")
    assert dataset(tmp_path / "out") == dataset(tmp_path / "online")
    assert full >= 0.9
