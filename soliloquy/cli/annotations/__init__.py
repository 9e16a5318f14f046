import click

from soliloquy.cli.lazy import LazyGroup

_MODULES = dict.fromkeys(("schemes", "sample", "agreement", "export", "import"), f"{__name__}.commands")


@click.group(cls=LazyGroup, modules=_MODULES)
def annotations() -> None:
    """Draw tasks for annotators, exchange annotations with other programs, and say how far annotators agree."""
