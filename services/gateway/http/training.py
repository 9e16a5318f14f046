"""Trained adapters and their evaluations, read from a registry and from evaluations' reports."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from soliloquy.dataset.storage import Storage
from soliloquy.runtime.completions import first_error
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import NotRegular, parsed_json, read_json
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.refusals import Code, Refusal

_ACTIVE, _VERSIONS, _REPORT = "active.json", "versions", "report.json"
# JSON has no other numbers, and browsers would refuse the answer.
_finite = with_config(ConfigDict(allow_inf_nan=False))
_MOST_CHARACTERS = 300


@_finite
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


@_finite
@dataclass(frozen=True, kw_only=True, slots=True)
class MetricValue:
    """A share with its 95 % interval, or a number without one."""

    value: float
    low: float | None = None
    high: float | None = None


@_finite
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
    # A line for each file that holds something else.
    unreadable: Sequence[str]


_ADAPTER, _EVALUATION = TypeAdapter(Adapter), TypeAdapter(EvaluationResult)


def training(adapters: str | None, evaluations: Path | None) -> HttpRoute:
    """`adapters` is a registry's folder or store, `evaluations` a folder of evaluations; either may be None."""

    async def show_training(_: RequestContext) -> Training:
        """Trained adapters, and evaluations."""
        try:
            return await asyncio.to_thread(_training, adapters, evaluations, TENANT.get())
        except (Failure, OSError) as error:
            raise Refusal(
                Code.UNAVAILABLE,
                f"adapters or evaluations cannot be read ({error}): check --adapters and --evaluations",
            ) from error

    return HttpRoute("GET", "/v1/training", "GetTraining", show_training, answer=Training)


def _training(adapters: str | None, evaluations: Path | None, tenant: str) -> Training:
    unreadable: list[str] = []
    # A folder that is named like the tenant is its own; what lies beside such folders is everybody's.
    own = ("", *filter(None, [tenant]))
    registries = [Storage(f"{adapters}/{name}") for name in own] if adapters else []
    folders = [evaluations / name for name in own] if evaluations else []
    return Training(
        adapters=[adapter for registry in registries for adapter in _adapters(registry, unreadable)],
        evaluations=[result for folder in folders for result in _evaluations(folder, unreadable)],
        shows_adapters=adapters is not None,
        shows_evaluations=evaluations is not None,
        unreadable=unreadable,
    )


def _adapters(registry: Storage, unreadable: list[str]) -> list[Adapter]:
    found: list[Adapter] = []
    active: dict[str, Any] = {}
    with _noted(_ACTIVE, unreadable):
        active = dict(parsed_json(registry.read(_ACTIVE) or b"{}"))
    for name in registry.names(_VERSIONS):
        if name.endswith(".json") and (content := registry.read(name)):
            with _noted(name, unreadable):
                version = parsed_json(content)
                entry = active.get(version["name"], {})
                in_use = entry.get("version") == name.removeprefix(f"{_VERSIONS}/").removesuffix(".json")
                shown = {each: version[each] for each in ("name", "digest", "base_digest", "note")}
                shown |= {"active": in_use, "active_since": entry["since"] if in_use else ""}
                shown["metrics"] = dict(_numbers(version["metrics"]))
                found.append(_ADAPTER.validate_python(shown))
    return found


def _numbers(metrics: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, float]]:
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{within}{name} ")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{within}{name}", value


def _evaluations(folder: Path, unreadable: list[str]) -> list[EvaluationResult]:
    found: list[EvaluationResult] = []
    for file in sorted(folder.glob(f"*/{_REPORT}")):
        with _noted(f"{file.parent.name}/{file.name}", unreadable):
            report = dict(read_json(file))
            # Training writes reports of the same name.
            if "protocol" in report:
                found.append(_EVALUATION.validate_python(_shown(report) | {"at": file.stat().st_mtime}))
    return found


def _shown(report: Mapping[str, Any]) -> dict[str, Any]:
    figures, titles = report["figures"], report["titles"]
    values = {
        name: {"value": share["share"], "low": share["low"], "high": share["high"]}
        for name, share in figures["metrics"].items()
        if share["share"] is not None
    }
    values |= {name: {"value": value} for name, value in figures.get("measures", {}).items() if value is not None}
    return {
        "name": report["name"],
        "protocol": report["protocol"],
        "model": str(report["model"]["model"]),
        "metrics": {titles.get(name, name): value for name, value in values.items()},
    }


@contextmanager
def _noted(place: str, unreadable: list[str]) -> Iterator[None]:
    """Leaves out what is no adapter and no evaluation, so that one file does not hide the others."""
    try:
        yield
    except ValidationError as error:
        unreadable.append(f"{place} cannot be read ({first_error(error)})"[:_MOST_CHARACTERS])
    except (NotRegular, ValueError, TypeError, KeyError, AttributeError) as error:
        unreadable.append(f"{place} cannot be read ({error})"[:_MOST_CHARACTERS])
