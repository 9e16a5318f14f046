"""A budget is kept to within the calls in flight, wherever it ends and whenever the run is killed before."""

from pathlib import Path

import pytest

from tests.e2e.budgets import CONVERSATIONS, tried
from tests.e2e.hosted import fake, priced
from tests.e2e.runs import dataset, grown

TRIES = 20


@pytest.mark.timeout(TRIES * 120)
def test_a_budget_is_kept_in_twenty_tries(tmp_path: Path) -> None:
    with fake("--latency", "10ms") as url:
        chosen = priced(tmp_path, url)
        grown(tmp_path / "whole", conversations=CONVERSATIONS, model_settings=chosen)
        whole = dataset(tmp_path / "whole")
        for seed in range(TRIES):
            assert tried(tmp_path / str(seed), url, chosen, seed) == whole
