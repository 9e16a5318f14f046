"""What services say of themselves at /metrics, and what has changed between two looks."""

import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

PATIENCE_SECONDS = 2.0
# As many as are asked side by side.
_ASKERS = 16

# Values by the name and the labels of their series.
Series = tuple[str, tuple[tuple[str, str], ...]]
Samples = Mapping[Series, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    at: float
    # By the name of the process that said it.
    samples: Mapping[str, Samples]
    # Why a process said nothing.
    silent: Mapping[str, str] = field(default_factory=dict)


def look(addresses: Mapping[str, str]) -> Look:
    """Asks every process, by its name, at its address."""
    with ThreadPoolExecutor(max_workers=min(len(addresses), _ASKERS)) as askers:
        answers = dict(zip(addresses, askers.map(_samples, addresses, addresses.values()), strict=True))
    return Look(
        at=time.monotonic(),
        samples={name: answer for name, answer in answers.items() if not isinstance(answer, str)},
        silent={name: answer for name, answer in answers.items() if isinstance(answer, str)},
    )


def _samples(name: str, address: str) -> Samples | str:
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE_SECONDS) as response:
            return read(response.read().decode())
    except (OSError, ValueError) as error:
        who = address if name == address else f"{name} on {address}"
        return f"{who} does not answer ({getattr(error, 'reason', None) or error})"


def read(text: str) -> Samples:
    """Ours alone, and of a histogram its sum and its count."""
    ours = "\n".join(line for line in text.splitlines() if line.startswith("soliloquy_") and "_bucket{" not in line)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(ours + "\n")
        for sample in family.samples
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Two looks; the same one twice where there was no other."""

    before: Look
    after: Look

    @property
    def seconds(self) -> float:
        return self.after.at - self.before.at

    def series(self, name: str, **labels: str) -> Iterator[tuple[dict[str, str], float]]:
        """The labels and the newest value of each, those of all processes; `process` is a label too."""
        for process, samples in self.after.samples.items():
            for (each, pairs), value in samples.items():
                if each == name and labels.items() <= (known := dict(pairs)).items():
                    yield known | {"process": process}, value

    def value(self, name: str, **labels: str) -> float:
        return sum(value for _, value in self.series(name, **labels))

    def sums(self, name: str, by: str, **labels: str) -> dict[str, float]:
        found: defaultdict[str, float] = defaultdict(float)
        for known, value in self.series(name, **labels):
            found[known[by]] += value
        return dict(found)

    def increase(self, name: str, **labels: str) -> float:
        """A process that was started again has counted from nothing; one that was not seen before is left out."""
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
        """Of a histogram; None where nothing was measured meanwhile."""
        count = self.increase(f"{name}_count", **labels)
        return self.increase(f"{name}_sum", **labels) / count if count else None
