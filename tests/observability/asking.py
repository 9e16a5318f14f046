"""Queries a Prometheus."""

import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Nothing changes between two scrapes.
_LOOK_SECONDS = 1.0

# One series: labels, and values by time.
Line = tuple[dict[str, str], list[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Asked:
    address: str

    def now(self, query: str) -> list[Line]:
        found = self._answer("query", query=query)["result"]
        return [_line(each["metric"], [each["value"]]) for each in found]

    def wait_for(self, asked: Mapping[str, str], seconds: float) -> None:
        """Returns when every query has a number as its result."""
        deadline = time.monotonic() + seconds
        while missing := {name: query for name, query in asked.items() if not self._has_number(query)}:
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {', '.join(missing)}"
            asked = missing
            time.sleep(_LOOK_SECONDS)

    def _has_number(self, query: str) -> bool:
        return any(math.isfinite(value) for _, points in self.now(query) for _, value in points)

    def over(self, query: str, *, start: float, end: float, step: float) -> list[Line]:
        found = self._answer("query_range", query=query, start=str(start), end=str(end), step=str(step))["result"]
        return [_line(each["metric"], each["values"]) for each in found]

    def traces(self, query: str, start: float, end: float) -> list[str]:
        """Returns the traces that the exemplars of a query name."""
        found = self._answer("query_exemplars", query=query, start=str(start), end=str(end))
        return [exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]]

    def _answer(self, what: str, **parameters: str) -> Any:
        address = f"{self.address}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=30) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{parameters}: {error.read().decode()}") from error


def _line(labels: dict[str, str], points: list[list[Any]]) -> Line:
    return labels, [(at, float(value)) for at, value in points]
