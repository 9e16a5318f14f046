"""A run whose budget is used up at some place, killed on the way, and continued with more: drawn from a seed."""

import random
import time
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.e2e.hosted import invoice
from tests.e2e.runs import command, dataset, grown, kill_run, run, start, wait_for_end

CONVERSATIONS = 3
# All three take about 100,000 tokens.
BUDGETS = (6_000, 60_000)
IN_FLIGHT = (1, 8)
# The requests before a kill.
REQUESTS = (1, 12)


def tried(out: Path, url: str, settings: str, seed: int) -> dict[str, bytes]:
    """Holds a run to its budget and the calls in flight; returns the dataset that a higher one comes to."""
    choice = random.Random(seed)
    budget, in_flight = choice.randint(*BUDGETS), choice.randint(*IN_FLIGHT)
    chosen: dict[str, Any] = {"conversations": CONVERSATIONS, "in_flight": in_flight, "model_settings": settings}
    before = len(invoice(url))
    limited = command(out, budget_tokens=budget, **chosen)
    with start(limited) as process:
        _kill_on_the_way(process, url, before + choice.randint(*REQUESTS))
    stopped = run(limited)
    assert stopped.returncode == 1, stopped.stderr
    assert f"the budget of {budget:,} tokens" in stopped.stderr
    billed = [line["prompt"] + line.get("completion", 0) for line in invoice(url)[before:]]
    grown(out, budget="900USD", **chosen)
    each = [line["prompt"] + line.get("completion", 0) for line in invoice(url)[before:]]
    told = f"seed {seed}: {sum(billed):,} of {budget:,} tokens, {in_flight} in flight"
    print(told)
    assert sum(billed) <= budget + in_flight * max(each), told
    return dataset(out)


def _kill_on_the_way(process: Popen[str], url: str, requests: int) -> None:
    """Kill -9 to the run as soon as so many requests are billed, unless the budget has ended it."""
    deadline = time.monotonic() + 60
    while len(invoice(url)) < requests and process.poll() is None:
        assert time.monotonic() < deadline, f"{len(invoice(url))} of {requests} requests after 60 s"
        time.sleep(0.01)
    if process.poll() is not None:
        process.communicate()
    else:
        wait_for_end(kill_run(process))
