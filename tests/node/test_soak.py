"""Something fails each minute, for MINUTES: runs go on, no conversation is lost or doubled, and no service grows."""

import os
import random
import re
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import pytest

from tests.cluster.control_plane import until
from tests.kafka.cluster import KafkaCluster
from tests.node.release import SERVICES, Refused, Release, Run

MINUTES = int(os.environ.get("MINUTES", "3"))
pytestmark = pytest.mark.timeout((MINUTES + 20) * 60)
_PACE_SECONDS = 60.0
_AWAY_SECONDS = 15.0
# A pod whose node is this busy is back within it.
_STANDS_SECONDS = 180.0
_RESIDENT = re.compile(r"^process_resident_memory_bytes (\S+)$", re.MULTILINE)
_FILES = re.compile(r"^process_open_fds (\S+)$", re.MULTILINE)
_MOST_BYTES, _MOST_FILES = 400e6, 500
# The most that a service may have in the second half of the time, in terms of what it had in the first.
_MOST_GROWTH = 1.5

Fault = tuple[str, Callable[[], object]]


def faults(release: Release, kafka: KafkaCluster, moments: random.Random) -> Iterator[Fault]:
    def away(stop: Callable[[int], None], start: Callable[[int], None]) -> None:
        stop(1)
        time.sleep(_AWAY_SECONDS)
        start(1)

    every: list[Fault] = [
        ("Kafka stopped", lambda: away(kafka.stop_node, kafka.start_node)),
        ("Kafka unplugged", lambda: away(kafka.cut, kafka.mend)),
    ]
    for service in SERVICES:
        every.append((f"{service} killed", partial(release.kill, service)))
        every.append((f"{service}'s pod deleted", partial(release.delete, service)))
    while True:
        moments.shuffle(every)
        yield from every


def test_faults_each_minute_lose_nothing_and_nothing_grows(release: Release, kafka: KafkaCluster) -> None:
    run = release.start(conversations=1_000_000, seed=9, in_flight=4)
    run.reach(1)
    resident, files = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for minute, (name, strike) in zip(range(MINUTES), faults(release, kafka, random.Random(9)), strict=False):
        ends = time.monotonic() + _PACE_SECONDS
        before = _accepted(run)
        strike()
        until(partial(_assert_beyond, run, before), seconds=_STANDS_SECONDS)
        for service in SERVICES:
            release.ready(service)
            told = _metrics(release, service)
            resident[service] += [float(found) for found in _RESIDENT.findall(told)]
            files[service] += [float(found) for found in _FILES.findall(told)]
        print(f"\n{minute}: {name}, {_accepted(run):,} accepted", end="", flush=True)
        time.sleep(max(0.0, ends - time.monotonic()))
    for service in SERVICES:
        print(f"\n{service}: at most {max(resident[service]) / 1e6:.0f} MB, {max(files[service]):.0f} files", end="")
    release.soliloquy("runs", "cancel", run.id, *release.reach())
    run.written(run.accepted)
    release.start(conversations=60, seed=10).finish()
    assert max(map(max, resident.values())) < _MOST_BYTES
    assert max(map(max, files.values())) < _MOST_FILES
    assert not {service: told for service, told in resident.items() if _grew(told)}
    assert not {service: told for service, told in files.items() if _grew(told)}
    assert not _killed_for_memory(release)


def _grew(told: list[float]) -> bool:
    half = len(told) // 2
    return max(told[half:]) > _MOST_GROWTH * max(told[:half])


def _accepted(run: Run) -> int:
    """Waits for a gateway that is away."""
    while True:
        with suppress(Refused):
            return run.accepted
        time.sleep(0.5)


def _assert_beyond(run: Run, before: int) -> None:
    assert _accepted(run) > before


def _metrics(release: Release, service: str) -> str:
    [pod] = release.pods(service)
    with suppress(OSError), urllib.request.urlopen(f"http://{pod['status']['podIP']}:9090/metrics", timeout=10) as told:
        return str(told.read(), "utf-8")
    return ""


def _killed_for_memory(release: Release) -> list[str]:
    ended = [
        (pod["metadata"]["name"], status.get("lastState", {}).get("terminated", {}).get("reason"))
        for service in SERVICES
        for pod in release.pods(service)
        for status in pod["status"]["containerStatuses"]
    ]
    return [name for name, reason in ended if reason == "OOMKilled"]
