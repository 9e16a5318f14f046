import click

from soliloquy.cli.lazy import LazyGroup

_MODULES = {
    **dict.fromkeys(("schemes", "sample", "agreement", "export", "import"), f"{__name__}.commands"),
    **dict.fromkeys(("apply", "calibrate", "preferences"), f"{__name__}.labels"),
}


@click.group(cls=LazyGroup, modules=_MODULES)
def annotations() -> None:
    """Draw tasks for annotators, say how far annotators agree, and use what they say."""
