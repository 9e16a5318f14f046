import click

from soliloquy.cli.lazy import LazyGroup

_MODULES = {
    "fetch": "soliloquy.cli.model_fetch",
    "serve": "soliloquy.cli.model_serve",
    "fake": "soliloquy.cli.model_fake",
    "probe": "soliloquy.cli.model_probe",
}


@click.group(cls=LazyGroup, modules=_MODULES)
def model() -> None:
    """Serve models, and find out what an endpoint can do."""
