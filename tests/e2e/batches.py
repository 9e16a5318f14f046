"""Runs by batch against a stand-in whose batches fail, killed at random moments: drawn from a seed."""

import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen
from typing import Any
from urllib.request import urlopen

from soliloquy.runtime.model.costs import KINDS
from tests.e2e.hosted import invoice, priced
from tests.e2e.runs import command, kill, kill_run, start, wait_for_end, worker_pids

# What befalls batches; none of it makes an endpoint work on a request twice.
FAULTS = {
    **{"expired": 0.08, "cancelled": 0.04, "lost": 0.04, "unheard": 0.08},
    **{"line_failed": 0.01, "line_missing": 0.01, "line_repeated": 0.05},
}
BATCH_FAULTS = [f"--fault={name}={share}" for name, share in FAULTS.items()]
# The dialect with each form of batches.
DIALECT_OF = {"files": "openai", "messages": "anthropic"}
# A worker is killed as often as the whole run.
_WORKER = 0.5


def in_batches(folder: Path, url: str, *, size: int, age: float) -> str:
    """Writes settings of the endpoint, asked in batches of so many requests, or after so many seconds."""
    file = Path(priced(folder, url))
    own = file.with_name("batches.toml")
    own.write_text(f"{file.read_text('utf-8')}batch = true\nbatch_size = {size}\nbatch_age = {age}\n", "utf-8")
    return str(own)


def spoken(settings: str, form: str) -> str:
    """Sets the dialect that has this form of batches."""
    file = Path(settings)
    file.write_text(f'{file.read_text("utf-8")}dialect = "{DIALECT_OF[form]}"\n', "utf-8")
    return settings


def batch_sizes(url: str, form: str) -> list[int]:
    """The requests of every batch that the endpoint remembers, in order."""
    path = "messages/batches" if form == "messages" else "batches"
    with urlopen(f"{url}/{path}?limit=1000000") as response:
        counts = [batch["request_counts"] for batch in reversed(json.load(response)["data"])]
    return [each.get("total") or sum(each.values()) for each in counts]


def killed_again_and_again(arguments: Sequence[str], kills: int, seconds: float, seed: int) -> dict[str, Any]:
    """Starts a run again whenever it is killed, so many times; returns the report of the last start.

    Each kill -9 comes after up to so many seconds, to the run or to one of its workers. A run that is over before has
    had fewer.
    """
    choice, left = random.Random(seed), kills
    while True:
        process = start(list(arguments))
        while left and process.poll() is None:
            time.sleep(choice.uniform(0.0, seconds))
            workers = worker_pids(process.pid) if process.poll() is None else []
            if process.poll() is not None:
                break
            left -= 1
            if workers and choice.random() < _WORKER:
                kill(choice.choice(workers))
            else:
                wait_for_end(kill_run(process))
                break
        else:
            assert not left, f"the run was over with {left} of {kills} kills to come"
            return _report(process)
        if process.returncode == 0:
            raise AssertionError(f"the run was over with {left} of {kills} kills to come")


def _report(process: Popen[str]) -> dict[str, Any]:
    said, errors = process.communicate()
    assert process.returncode == 0, errors
    return dict(json.loads(said))


def billed_once(url: str, out: Path) -> None:
    """Checks that no request was billed twice, and that the account is the invoice to the last token.

    What a batch took that nobody found again stands apart.
    """
    # The question before a run names no prompt, and goes alone: a kill beside it leaves its cost unknown.
    lines = [line for line in invoice(url) if line["state"]]
    asked = Counter((line["state"], line["seeds"]) for line in lines)
    assert max(asked.values()) == 1, asked.most_common(3)
    accounts = json.loads((out / "manifest.json").read_bytes())["arrival"]["spent"]
    known = [row for row in accounts if row["outcome"] != "lost" and row["role"] != "check"]
    assert {row["outcome"] for row in known} == {"answered"}
    for kind in KINDS:
        assert sum(row[kind] for row in known) == sum(line.get(kind, 0) for line in lines), kind
    assert sum(row["requests"] for row in known) == len(lines)


def fullness(sizes: Sequence[int], size: int) -> float:
    """How full the batches were, without the last tenth of them."""
    counted = sizes[: len(sizes) * 9 // 10]
    return float(sum(counted) / (size * len(counted)))


def by_batch(out: Path, settings: str, conversations: int, **options: Any) -> list[str]:
    return command(out, conversations=conversations, model_settings=settings, **options)
