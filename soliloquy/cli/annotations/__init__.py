import click

from soliloquy.cli.lazy import LazyGroup

_MODULES = dict.fromkeys(("schemes", "sample", "agreement"), f"{__name__}.commands")


@click.group(cls=LazyGroup, modules=_MODULES)
def annotations() -> None:
    """Draw tasks for annotators, and say how far they agree."""
