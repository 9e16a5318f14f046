"""A Prometheus of this machine, as the distribution has it, for as long as a block lasts."""

import json
import os
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.runtime.listening import listening
from tests.kafka import processes

START_SECONDS = 30.0

# In CI a missing Prometheus is a failure, not a reason to skip.
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None and os.environ.get("CI") != "true",
    reason="prometheus is missing: apt-get install prometheus",
)

# A series: its labels, and its values by time.
Line = tuple[dict[str, str], list[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Prometheus:
    url: str

    def now(self, query: str) -> list[Line]:
        return _lines(self._asked("query", query=query), "value")

    def over(self, query: str, *, start: float, end: float, step: float) -> list[Line]:
        asked = self._asked("query_range", query=query, start=str(start), end=str(end), step=str(step))
        return _lines(asked, "values")

    def targets(self) -> dict[str, str]:
        """How the newest scrape of each went, by its address."""
        found = self._asked("targets")["activeTargets"]
        return {target["labels"]["instance"]: target["health"] for target in found}

    def _asked(self, what: str, **parameters: str) -> Any:
        address = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=30) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error


def _lines(data: dict[str, Any], key: str) -> list[Line]:
    found = []
    for each in data["result"]:
        points = [each[key]] if key == "value" else each[key]
        found.append((each["metric"], [(at, float(value)) for at, value in points]))
    return found


@contextmanager
def prometheus(
    folder: Path, targets: Mapping[str, Sequence[str]], *, every: str = "1s", rules: Sequence[Path] = ()
) -> Iterator[Prometheus]:
    """Scrapes addresses, by the name of their job; ready when it answers."""
    with listening("127.0.0.1:0") as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    config = {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": [str(path) for path in rules],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": list(addresses)}]} for job, addresses in targets.items()
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), "utf-8")
    command = ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'series'}"]
    log = folder / "prometheus.log"
    process = processes.start([*command, f"--web.listen-address={address}"], log)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _is_ready(address):
            said = log.read_text("utf-8")[-1000:]
            assert process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.1)
        yield Prometheus(f"http://{address}")
    finally:
        processes.end([process], seconds=10)


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/-/ready", timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False
