"""`soliloquy adapters`: the adapters that were trained, and which of them answers."""

import asyncio
import json
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Column, Table

from soliloquy.cli.addresses import ADDRESS
from soliloquy.cli.service_options import option
from soliloquy.problems.bank.bank import load_bank
from soliloquy.runs.failure import Failure
from soliloquy.runtime.weights import base_digest
from training.adapters.activation import Activation, NotActivated
from training.adapters.canary import Canary, canaries
from training.adapters.registry import Active, ConcurrentActivation, Registry, UnknownVersion
from training.adapters.serving import ModelService, ServiceError
from training.adapters.version import InvalidAdapter, Version, read_version

T = TypeVar("T")
_BANK = "physics"
MISTAKES = (InvalidAdapter, UnknownVersion, ConcurrentActivation, NotActivated, ServiceError)

REGISTRY = option("--registry", required=True, metavar="DIR|URL", help="Where they are kept: a folder or s3://..")
SERVICE = option("--model-address", required=True, metavar="HOST:PORT", type=ADDRESS, help="Of the model service.")
CACHE = click.option(
    "--cache",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder that all replicas read, for copies; needed where the registry is none.",
)


@click.group()
def adapters() -> None:
    """Keep trained adapters, and put them into service."""


@adapters.command(name="list")
@REGISTRY
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def list_(*, registry: str, as_json: bool) -> None:
    """What was pushed, and which version of each is active."""
    kept = _opened(registry)
    found, active = _read(kept)
    if as_json:
        click.echo(json.dumps(_as_json(found, active)))
        return
    table = Table(Column("adapter", no_wrap=True), "active", "base", "trained on", "held-out loss", "note")
    for version in found:
        entry = active.get(version.name)
        since = f"since {entry.since}" if entry and entry.version == version.id else ""
        validation = version.metrics.get("validation") or {}
        loss = f"{validation['loss']:.4f}" if "loss" in validation else ""
        table.add_row(version.id, since, version.base_digest[:12], version.data_digest[:12], loss, version.note)
    Console().print(table)


@adapters.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--name", required=True, metavar="NAME", help="What requests will call it, whichever version it is.")
@click.option(
    "--base",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Refuse it unless it was trained on this model.",
)
@REGISTRY
def push(*, folder: Path, name: str, base: Path | None, registry: str) -> None:
    """Keep an adapter, from its folder or from that of the training which made it."""
    try:
        version, files = read_version(folder, name, base=base_digest(base) if base else "")
        pushed = _opened(registry).push(version, files)
    except (*MISTAKES, OSError) as error:
        raise Failure(str(error)) from error
    click.echo(version.id if pushed else f"{version.id} is there already")


@adapters.command()
@click.argument("asked", metavar="NAME[@DIGEST]")
@click.option("--canaries", "count", default=6, show_default=True, type=click.IntRange(min=1), help="Prompts to try.")
@click.option(
    "--readable",
    default=0.8,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of their answers that must be of use.",
)
@CACHE
@SERVICE
@REGISTRY
def activate(*, asked: str, count: int, readable: float, cache: Path | None, model_address: str, registry: str) -> None:
    """Have the model service answer with an adapter, on every replica and without losing a request.

    It is tried on a few of the tutor's prompts first; where that goes wrong, what answers goes on answering.
    """
    kept, prompts = _opened(registry), canaries_of(count)

    async def activated() -> Active:
        async with ModelService(model_address) as service:
            activation = Activation(registry=kept, service=service, cache=cache)
            return await activation.activate(kept.find(asked), prompts, readable=readable)

    click.echo(f"active: {_run(activated()).version}")


@adapters.command()
@click.argument("name", metavar="NAME")
@CACHE
@SERVICE
@REGISTRY
def rollback(*, name: str, cache: Path | None, model_address: str, registry: str) -> None:
    """Have the version before the active one answer again."""
    kept = _opened(registry)

    async def rolled_back() -> Active:
        async with ModelService(model_address) as service:
            return await Activation(registry=kept, service=service, cache=cache).roll_back(name)

    click.echo(f"active: {_run(rolled_back()).version}")


def canaries_of(count: int) -> list[Canary]:
    bank = load_bank(_BANK)
    return canaries([bank.draw(number) for number in range(count)], count)


def _opened(registry: str) -> Registry:
    try:
        return Registry(registry)
    except OSError as error:
        raise Failure(str(error)) from error


def _read(registry: Registry) -> tuple[list[Version], dict[str, Active]]:
    try:
        return registry.versions(), registry.active()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise Failure(f"{registry} holds no registry that could be read ({error})") from error


def _as_json(found: Sequence[Version], active: dict[str, Active]) -> dict[str, Any]:
    return {
        "versions": [{"id": version.id, **version.as_json()} for version in found],
        "active": {name: {"version": entry.version, "since": entry.since} for name, entry in active.items()},
    }


def _run(doing: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(doing)
    except (*MISTAKES, OSError) as error:
        raise Failure(str(error)) from error
