"""`soliloquy adapters`: keeps trained adapters, and puts one into service."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Column, Table

from soliloquy.cli.command import Group, option, setting
from soliloquy.cli.evaluate.settings import RECIPE, retraining_evaluation
from soliloquy.cli.options import ADDRESS, AS_JSON, EXISTING_FOLDER, NEW_FOLDER, real
from soliloquy.cli.service_options import TLS_HELP, client_tls
from soliloquy.cli.terminal import answer, echo
from soliloquy.runtime.failure import Failure

if TYPE_CHECKING:
    from soliloquy_training.adapters.activation import Activation
    from soliloquy_training.adapters.registry import Active, Registry

# Prompts to try before an activation.
_CANARIES = 6

REGISTRY = option("The registry: a folder or s3://bucket/folder.", "--registry", required=True, metavar="DIR|URL")
SERVICE = option(f"The model service; {TLS_HELP}", "--model-address", required=True, type=ADDRESS)
CACHE = setting(
    "A folder that all replicas can read, for copies; required unless the registry is a folder.",
    "--cache",
    type=NEW_FOLDER,
)


@contextmanager
def reporting_file_errors() -> Iterator[None]:
    """Turns an OSError of an adapter, a registry or a cache into a Failure."""
    try:
        yield
    except OSError as error:
        raise Failure(str(error)) from error


@click.group(cls=Group)
def adapters() -> None:
    """Keep trained adapters, and put them into service."""


@adapters.command(name="list")
def list_(*, registry: str = REGISTRY, as_json: bool = AS_JSON) -> None:
    """List the versions of all adapters, and which of them are active."""
    try:
        kept = _opened(registry)
        versions, active = kept.versions(), kept.active()
    except OSError as error:
        raise Failure(f"{registry} is not a readable registry ({error})") from error
    listed = [{"id": version.id, **asdict(version)} for version in versions]
    in_service = {name: {"version": entry.version, "since": entry.since} for name, entry in active.items()}
    table = Table(Column("adapter", no_wrap=True), "active", "base", "trained on", "held-out loss", "note")
    for version in versions:
        entry = active.get(version.name)
        since = f"since {entry.since}" if entry and entry.version == version.id else ""
        validation = version.metrics.get("validation") or {}
        loss = f"{validation['loss']:.4f}" if "loss" in validation else ""
        table.add_row(version.id, since, version.base_digest[:12], version.data_digest[:12], loss, version.note)
    answer({"versions": listed, "active": in_service}, [table], as_json=as_json)


@adapters.command()
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
def push(
    *,
    name: str = setting("The name that requests use for all its versions.", metavar="NAME"),
    registry: str = REGISTRY,
    folder: Path,
) -> None:
    """Add an adapter to the registry, from its own folder or from that of its training."""
    from soliloquy_training.adapters.version import read_version

    with reporting_file_errors():
        version, files = read_version(folder, name)
        pushed = _opened(registry).push(version, files)
    echo(version.id if pushed else f"{version.id} is already in the registry")


@adapters.command()
@click.argument("wanted", metavar="NAME[@DIGEST]")
def activate(
    *,
    readable: float = setting(
        "The share of the answers that must be readable; 0 activates any adapter.", default=0.8, type=real(0, 1)
    ),
    recipe: str = RECIPE,
    cache: Path | None = CACHE,
    model_address: str = SERVICE,
    registry: str = REGISTRY,
    wanted: str,
) -> None:
    """Have the model service answer with an adapter, on every replica and without losing a request.

    A few of the tutor's prompts are tried first. If they fail, the active version stays active.
    """
    prompts = retraining_evaluation(recipe).canary_prompts(_CANARIES)

    def activated(activation: "Activation") -> Awaitable["Active"]:
        return activation.activate(activation.registry.find(wanted), prompts, readable=readable)

    _change(registry, model_address, cache, activated)


@adapters.command()
@click.argument("name", metavar="NAME")
def rollback(*, cache: Path | None = CACHE, model_address: str = SERVICE, registry: str = REGISTRY, name: str) -> None:
    """Activate the version that was active before."""
    _change(registry, model_address, cache, lambda activation: activation.roll_back(name))


def _change(
    registry: str, model_address: str, cache: Path | None, change: Callable[["Activation"], Awaitable["Active"]]
) -> None:
    from soliloquy_training.adapters.activation import Activation
    from soliloquy_training.adapters.serving import ModelService

    async def changed() -> "Active":
        async with ModelService(model_address, tls=client_tls()) as service:
            return await change(Activation(registry=_opened(registry), service=service, cache=cache))

    with reporting_file_errors():
        active = asyncio.run(changed())
    echo(f"active: {active.version}")


def _opened(registry: str) -> "Registry":
    from soliloquy_training.adapters.registry import Registry

    with reporting_file_errors():
        return Registry(registry)
