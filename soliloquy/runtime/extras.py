"""Says how to install the libraries that only some commands need, which `pyproject.toml` lists as extras."""

from importlib.util import find_spec
from pathlib import Path

from soliloquy.runtime.failure import Failure

_CHECKOUT = (Path(__file__).parents[2] / "pyproject.toml").exists()
# The extra that a command misses when it fails to import one of its libraries.
_EXTRAS = {
    "train": ("torch", "transformers", "peft", "safetensors", "yaml", "tensorboard", "matplotlib"),
    "serve": ("ray", "llguidance", "fastapi"),
    "vllm": ("vllm",),
    "s3": ("s3fs",),
    "measures": ("textstat",),
    "papers": ("sklearn",),
    "otlp": ("opentelemetry",),
}


class NotInstalled(Failure):
    """A library of an extra is missing; the message says how to install it."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed: {installation(extra)}")


def installation(extra: str) -> str:
    """Returns the command that installs an extra; in a checkout it runs from the root."""
    return f"pip install -e '.[{extra}]'" if _CHECKOUT else f"pip install 'soliloquy[{extra}]'"


def check_installed(extra: str, *libraries: str) -> None:
    for library in libraries:
        if find_spec(library) is None:
            raise NotInstalled(library, extra)


def missing_extra(error: ModuleNotFoundError) -> NotInstalled | None:
    """Returns what to tell about a failed import; None if no extra has the module."""
    library = (error.name or "").partition(".")[0]
    extra = next((extra for extra, libraries in _EXTRAS.items() if library in libraries), None)
    return NotInstalled(library, extra) if extra else None
