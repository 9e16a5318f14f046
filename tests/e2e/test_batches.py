"""A run by batch comes to the bytes of one that asks at once, and pays for each answer once, whatever happens."""

from pathlib import Path

import pytest

from tests.e2e.batches import BATCH_FAULTS, billed_once, by_batch, fullness, in_batches, killed_again_and_again
from tests.e2e.hosted import fake, priced
from tests.e2e.runs import dataset, grown

CONVERSATIONS = 12
SIZE = 4
KILLS = 6


@pytest.mark.timeout(300)
def test_a_run_by_batch_that_is_killed_again_and_again_is_that_of_single_requests_and_pays_once(tmp_path: Path) -> None:
    with fake() as url:
        grown(tmp_path / "online", conversations=CONVERSATIONS, model_settings=priced(tmp_path, url))
    with fake("--batch-latency", "200ms", *BATCH_FAULTS) as url:
        settings = in_batches(tmp_path, url, size=SIZE, age=1.5)
        arguments = by_batch(tmp_path / "out", settings, CONVERSATIONS)
        killed_again_and_again(arguments, KILLS, seconds=4.0, seed=1)
        billed_once(url, tmp_path / "out")
        assert fullness(url, SIZE) > 0.7
    assert dataset(tmp_path / "out") == dataset(tmp_path / "online")
