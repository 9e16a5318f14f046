"""The name under which a package index knows this project, and the version that is installed."""

from importlib.metadata import version

# `soliloquy` is somebody else's there.
NAME = "soliloquy-tutor"


def installed_version() -> str:
    return version(NAME)
