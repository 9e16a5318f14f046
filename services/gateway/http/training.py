"""Trained adapters and their evaluations, read from a registry and from evaluations' reports."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.gateway.http.routes import HttpRoute, RequestContext
from services.gateway.refusals import Code, Refusal
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.failure import Failure

_ACTIVE, _VERSIONS, _REPORT = "active.json", "versions", "report.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapter:
    name: str
    digest: str
    base_digest: str
    active: bool
    # When it became active; empty for an inactive one.
    active_since: str
    note: str
    # The numbers that its training reports.
    metrics: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricValue:
    """A share with its 95 % interval, or a number without one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationResult:
    name: str
    protocol: str
    model: str
    # When its report was written, in Unix seconds.
    at: float
    metrics: Mapping[str, MetricValue]


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    adapters: Sequence[Adapter]
    evaluations: Sequence[EvaluationResult]
    # Whether the gateway was started with a registry, and with a folder of evaluations.
    shows_adapters: bool
    shows_evaluations: bool


def training(adapters: str | None, evaluations: Path | None) -> HttpRoute:
    """`adapters` is a registry's folder or store, `evaluations` a folder of evaluations; either may be None."""

    async def show_training(_: RequestContext) -> Training:
        """Trained adapters, and evaluations."""
        try:
            return await asyncio.to_thread(_training, adapters, evaluations)
        except (Failure, OSError, ValueError, TypeError, KeyError) as error:
            raise Refusal(
                Code.UNAVAILABLE,
                f"adapters or evaluations cannot be read ({error}): check --adapters and --evaluations",
            ) from error

    return HttpRoute("GET", "/v1/training", "GetTraining", show_training, answer=Training)


def _training(adapters: str | None, evaluations: Path | None) -> Training:
    return Training(
        adapters=list(_adapters(Storage(adapters))) if adapters else [],
        evaluations=list(_evaluations(evaluations)) if evaluations else [],
        shows_adapters=adapters is not None,
        shows_evaluations=evaluations is not None,
    )


def _adapters(registry: Storage) -> Iterator[Adapter]:
    active = json.loads(registry.read(_ACTIVE) or b"{}")
    for name in registry.names(_VERSIONS):
        if name.endswith(".json") and (content := registry.read(name)):
            version = json.loads(content)
            entry = active.get(version["name"], {})
            in_use = entry.get("version") == name.removeprefix(f"{_VERSIONS}/").removesuffix(".json")
            yield Adapter(
                name=version["name"],
                digest=version["digest"],
                base_digest=version["base_digest"],
                active=in_use,
                active_since=entry["since"] if in_use else "",
                note=version["note"],
                metrics=dict(_numbers(version["metrics"])),
            )


def _numbers(metrics: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, float]]:
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{within}{name} ")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{within}{name}", value


def _evaluations(folder: Path) -> Iterator[EvaluationResult]:
    for file in sorted(folder.glob(f"*/{_REPORT}")):
        report = json.loads(file.read_bytes())
        # Training writes reports of the same name.
        if "protocol" in report:
            figures, titles = report["figures"], report["titles"]
            values = {
                name: MetricValue(value=share["share"], low=share["low"], high=share["high"])
                for name, share in figures["metrics"].items()
                if share["share"] is not None
            }
            numbers = figures.get("measures", {}).items()
            values |= {name: MetricValue(value=value) for name, value in numbers if value is not None}
            yield EvaluationResult(
                name=report["name"],
                protocol=report["protocol"],
                model=str(report["model"]["model"]),
                at=file.stat().st_mtime,
                metrics={titles.get(name, name): value for name, value in values.items()},
            )
