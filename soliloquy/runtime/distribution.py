"""The name under which a package index knows this project, and the version that is installed."""

# `soliloquy` is somebody else's there.
NAME = "soliloquy-tutor"


def installed_version() -> str:
    # It takes as long to load as all that `--help` needs.
    from importlib.metadata import version

    return version(NAME)
