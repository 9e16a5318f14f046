"""Kills the gateway with kill -9 in the middle of a run, again and again."""

import os
import signal
from pathlib import Path

from soliloquy.client import Dataset, Runs, state_of
from tests.e2e.consoles import OPERATOR, site

CONVERSATIONS = 60
KILLED_AT = (10, 25, 40)


def test_a_gateway_that_is_killed_loses_no_run_no_conversation_and_no_watcher(tmp_path: Path) -> None:
    counts, killed = [], 0
    with site(tmp_path, "--latency", "50ms") as at:
        run = at.started(CONVERSATIONS, request_id="one", in_flight=12)
        host, _, port = at.address.removeprefix("http://").partition(":")
        with Runs(f"{host}:{int(port) + 1}", token=OPERATOR) as runs:
            for status in runs.watch(run):
                counts.append(status.progress.accepted)
                if killed < len(KILLED_AT) and counts[-1] >= KILLED_AT[killed]:
                    os.kill(at.gateway, signal.SIGKILL)
                    killed += 1
    assert (killed, state_of(status), counts[-1]) == (len(KILLED_AT), "finished", CONVERSATIONS)
    assert counts == sorted(counts)
    grown = [conversation.ordinal for conversation in Dataset(tmp_path / "data" / run)]
    assert len(grown) == len(set(grown)) == CONVERSATIONS
