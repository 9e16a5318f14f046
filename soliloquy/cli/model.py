"""`soliloquy model`: serves models, and finds out what an endpoint can do."""

from pathlib import Path

import click

from soliloquy.cli.command import Command, setting
from soliloquy.cli.lazy import LazyGroup
from soliloquy.cli.options import NEW_FOLDER
from soliloquy.cli.terminal import echo
from soliloquy.runtime.failure import Failure


@click.command(cls=Command)
@click.argument("source", metavar="URL")
@click.argument("folder", metavar="DIR", type=NEW_FOLDER)
def fetch(
    *,
    digest: str = setting(
        "Refuse another model: the digest that the service tells of its base and that adapters name.",
        default="",
        metavar="SHA256",
    ),
    source: str,
    folder: Path,
) -> None:
    """Fetch a model from an object store, such as s3://bucket/llama-3.1-8b, into a folder.

    Run the same command again after an interruption: what is there stays, unless the store has another version of it.
    """
    from soliloquy.dataset.storage import Storage
    from soliloquy_services.model.weights_source import fetch_model

    try:
        fetched = fetch_model(Storage(source), folder, digest=digest, tell=lambda line: echo(line, err=True))
    except OSError as error:
        raise Failure(f"{source} cannot be fetched to {folder}: {error}") from error
    echo(f"{folder}: complete, {fetched:,} bytes fetched")


_MODULES = {
    "fetch": "soliloquy.cli.model",
    "serve": "soliloquy.cli.model_serve",
    "fake": "soliloquy.cli.model_fake",
    "probe": "soliloquy.cli.model_probe",
}


@click.group(cls=LazyGroup, modules=_MODULES)
def model() -> None:
    """Serve models, and find out what an endpoint can do."""
