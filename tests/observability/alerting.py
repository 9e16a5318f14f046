"""Runs a real Prometheus with our rules on accelerated time; tests skip without it, and fail in CI."""

import json
import os
import re
import shutil
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from soliloquy.cli.observe import Prometheus, prometheus, shipped_rules

# Every `for`, range and offset of the rules is divided by this factor; thresholds stay.
# Scrape interval and timeout before acceleration: longer than usual, because scrapes cost the machine under test.
INTERVAL_SECONDS = 60.0
# Slack for a scrape, an evaluation and a stage's pause between lag checks, on a busy machine.
SLACK_SECONDS = 30.0
_RANGE = re.compile(r"(\[|\boffset )(\d\w*)")


def hastened(duration: str, haste: float) -> str:
    return f"{promql_parser.parse_duration(duration).total_seconds() * 1000 / haste:.0f}ms"


def hastened_rules(folder: Path, haste: float) -> Path:
    folder.mkdir()
    for file in shipped_rules().glob("*.yaml"):
        told = yaml.safe_load(file.read_text("utf-8"))
        for rule in (rule for group in told["groups"] for rule in group["rules"]):
            rule["expr"] = _RANGE.sub(lambda found: found[1] + hastened(found[2], haste), rule["expr"])
            if "for" in rule:
                rule["for"] = hastened(rule["for"], haste)
        (folder / file.name).write_text(yaml.safe_dump(told), "utf-8")
    return folder


class Alerts:
    def __init__(self, running: Prometheus) -> None:
        self._running = running

    def firing(self) -> dict[str, dict[str, Any]]:
        """Returns the firing alerts, one per name."""
        told = self._ask("alerts")["alerts"]
        return {alert["labels"]["alertname"]: alert for alert in told if alert["state"] == "firing"}

    def wait_until_watching(self, targets: int) -> None:
        """Returns when every target has answered and the rules have been evaluated."""
        self._until(lambda: self._value("sum(up)") == targets, "not all targets answer")
        self._until(lambda: self._value("count(soliloquy:dead_letters:max)") > 0, "no rule was evaluated")

    def fires(self, alert: str, within: float = 120.0) -> dict[str, Any]:
        seen: dict[str, dict[str, Any]] = {}

        def is_seen() -> bool:
            seen.update(self.firing())
            return alert in seen

        self._until(is_seen, f"{alert} does not fire", within)
        return seen[alert]

    def clears(self, alert: str) -> float:
        """Waits for an alert and returns the seconds that it took."""
        return self._until(lambda: alert not in self.firing(), f"{alert} does not clear")

    def window(self, alert: str) -> float:
        """Returns the seconds within which an alert must fire."""
        groups = self._ask("rules")["groups"]
        [rule] = [rule for group in groups for rule in group["rules"] if rule["name"] == alert]
        return float(rule["duration"]) + SLACK_SECONDS

    def _value(self, query: str) -> float:
        found = self._ask(f"query?query={urllib.parse.quote(query)}")["result"]
        return float(found[0]["value"][1]) if found else 0.0

    def _ask(self, what: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._running.address}/api/v1/{what}", timeout=10) as answer:
            return dict(json.load(answer)["data"])

    def _until(self, holds: Any, what: str, seconds: float = 120.0) -> float:
        began = time.monotonic()
        while not holds():
            assert self._running.runs, f"Prometheus has ended: {self._running.last_words}"
            assert time.monotonic() - began < seconds, f"{what} within {seconds:g} s; firing: {list(self.firing())}"
            time.sleep(0.1)
        return time.monotonic() - began


@contextmanager
def watching(targets: Mapping[str, str], port: int, folder: Path, haste: float) -> Iterator[Alerts]:
    if shutil.which("prometheus") is None:
        complaint = "prometheus is missing: apt-get install prometheus"
        pytest.fail(complaint) if os.environ.get("CI") else pytest.skip(complaint)
    rules = hastened_rules(folder / "rules", haste)
    with prometheus(targets, port, rules=rules, interval=f"{INTERVAL_SECONDS / haste:g}s") as running:
        alerts = Alerts(running)
        alerts.wait_until_watching(len(targets))
        yield alerts
