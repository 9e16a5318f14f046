"""Scrapes the metrics of running services, and reads figures from two scrapes."""

import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

PATIENCE_SECONDS = 2.0
# Processes to scrape at once.
_THREADS = 16

# The name and the labels of a series.
Series = tuple[str, tuple[tuple[str, str], ...]]
Samples = Mapping[Series, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scrape:
    at: float
    # By the name of the process.
    samples: Mapping[str, Samples]
    # Why a process did not answer, by its name.
    silent: Mapping[str, str] = field(default_factory=dict)
    # Why a process that answers does not serve, by its name.
    faults: Mapping[str, str] = field(default_factory=dict)


def scrape(addresses: Mapping[str, str]) -> Scrape:
    """Scrapes every process, given its name and address."""
    with ThreadPoolExecutor(max_workers=min(len(addresses), _THREADS)) as threads:
        answers = dict(zip(addresses, threads.map(_samples, addresses, addresses.values()), strict=True))
        faults = dict(zip(addresses, threads.map(_fault, addresses.values()), strict=True))
    return Scrape(
        at=time.monotonic(),
        samples={name: answer for name, answer in answers.items() if not isinstance(answer, str)},
        silent={name: answer for name, answer in answers.items() if isinstance(answer, str)},
        faults={name: fault for name, fault in faults.items() if fault},
    )


def _fault(address: str) -> str:
    try:
        urllib.request.urlopen(f"http://{address}/readyz", timeout=PATIENCE_SECONDS).close()
    except urllib.error.HTTPError as error:
        with error:
            return "; ".join(error.read().decode().splitlines())
    except OSError:
        pass
    return ""


def _samples(name: str, address: str) -> Samples | str:
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE_SECONDS) as response:
            return read(response.read().decode())
    except (OSError, ValueError) as error:
        source = address if name == address else f"{name} on {address}"
        return f"{source} does not answer ({_reason(error)})"


def _reason(error: Exception) -> object:
    reason = getattr(error, "reason", error)
    return getattr(reason, "strerror", None) or reason


def read(text: str) -> Samples:
    """Parses our own metrics only, and of a histogram only its sum and count."""
    ours = "\n".join(line for line in text.splitlines() if line.startswith("soliloquy_") and "_bucket{" not in line)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(ours + "\n")
        for sample in family.samples
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """The time between two scrapes."""

    before: Scrape
    after: Scrape

    @property
    def seconds(self) -> float:
        return self.after.at - self.before.at

    def series(self, name: str, **labels: str) -> Iterator[tuple[dict[str, str], float]]:
        """Yields labels and newest value of each series in all processes; `process` is added to the labels."""
        for process, samples in self.after.samples.items():
            for (each, pairs), value in samples.items():
                if each == name and labels.items() <= (known := dict(pairs)).items():
                    yield known | {"process": process}, value

    def value(self, name: str, **labels: str) -> float:
        return sum(value for _, value in self.series(name, **labels))

    def total(self, name: str, **labels: str) -> int:
        return int(self.value(name, **labels))

    def sums(self, name: str, by: str, **labels: str) -> dict[str, float]:
        found: defaultdict[str, float] = defaultdict(float)
        for known, value in self.series(name, **labels):
            found[known[by]] += value
        return dict(found)

    def increase(self, name: str, **labels: str) -> float:
        """Sums the increase of all processes; a restarted one counts from zero, one not seen before is left out."""
        total = 0.0
        for known, value in self.series(name, **labels):
            process = known.pop("process")
            if process in self.before.samples:
                earlier = self.before.samples[process].get((name, tuple(sorted(known.items()))), 0.0)
                total += value - earlier if value >= earlier else value
        return total

    def rate(self, name: str, **labels: str) -> float | None:
        return self.increase(name, **labels) / self.seconds if self.seconds else None

    def mean(self, name: str, **labels: str) -> float | None:
        """Returns the mean of a histogram, or None if nothing was observed in the interval."""
        count = self.increase(f"{name}_count", **labels)
        return self.increase(f"{name}_sum", **labels) / count if count else None
