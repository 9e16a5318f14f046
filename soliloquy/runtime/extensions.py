"""Finds what other packages add to ours by their entry points, such as recipes and engines, and loads it."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from soliloquy.runtime.distribution import NAME
from soliloquy.runtime.failure import Failure, Refused

_OURS = ("soliloquy", "soliloquy_papers", "soliloquy_services")
_log = logging.getLogger(__name__)


@cache
def installed_entry_points() -> Any:
    """Reads the entry points of every installed package once for all groups. Python 3.12 gave them another type."""
    return entry_points()


def is_ours(value: str) -> bool:
    """Whether a `module` or `module:object` is the project's."""
    return value.partition(".")[0] in _OURS


class BadPackage(Failure, Refused):
    """A package's addition cannot be used; the message names the entry, the package or its field, and what to do."""


class Extensions:
    """Our own recipes, formats or engines by name, and those that packages add in a group of entry points."""

    def __init__(self, kind: str, group: str, ours: Callable[[], Iterable[tuple[str, str]]] = tuple) -> None:
        self._kind = kind
        self._group = group
        self._ours = ours

    @cached_property
    def claims(self) -> Mapping[str, Sequence[str]]:
        """Maps each name to the `module` or `module:object` of every package that claims it, or to ours alone."""
        found: dict[str, list[str]] = {}
        points = installed_entry_points().select(group=self._group)
        added = sorted(((point.name, point.value) for point in points), key=lambda one: not is_ours(one[1]))
        for name, value in chain(self._ours(), added):
            claimed = found.setdefault(name, [])
            # An editable install beside a built one lists its entry points twice.
            if value in claimed:
                continue
            if claimed and is_ours(claimed[0]):
                _log.warning(
                    "%s %s: %s is not used, because %s has that name: rename or uninstall it",
                    *(self._kind, name, value, claimed[0]),
                )
            else:
                claimed.append(value)
        return found

    def value(self, name: str) -> str:
        """Raises BadPackage for a name that several packages claim."""
        value, *others = self.claims[name]
        if others:
            packages = " and ".join(sorted(self.claims[name]))
            raise BadPackage(f"{self._kind} {name}: {packages} both have that name: rename or uninstall one")
        return value

    def load(self, name: str, *wanted: Any, place: str = "") -> Any:
        """Imports an entry, or what its package has at another place; raises BadPackage unless it has a wanted type."""
        value = place or self.value(name)
        try:
            loaded = EntryPoint(name, value, self._group).load()
        except Exception as error:
            if isinstance(error, Refused | Failure):
                raise
            if is_ours(value) and isinstance(error, ModuleNotFoundError) and (missing := missing_extra(error)):
                raise missing from error
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise BadPackage(f"{self._kind} {name}: {value} does not load ({why}): correct or uninstall it") from error
        if not isinstance(loaded, wanted):
            types = " or ".join(each.__name__ for each in wanted)
            raise BadPackage(f"{self._kind} {name}: {value} is {loaded!r}: make it a {types}")
        return loaded


_CHECKOUT = (Path(__file__).parents[2] / "pyproject.toml").exists()
# The extra that a command misses when it fails to import one of its libraries.
EXTRAS = {
    "run": (
        *("pyarrow", "ptars", "numpy", "sympy", "rensa", "aiokafka", "cronsim", "faststream", "sqlalchemy"),
        *("starlette", "uvicorn", "h11", "joserfc", "grpc_health", "grpc_reflection"),
    ),
    "train": ("torch", "transformers", "peft", "safetensors", "yaml", "tensorboard", "matplotlib"),
    "serve": ("ray", "llguidance", "fastapi"),
    "vllm": ("vllm",),
    "s3": ("s3fs",),
    "gs": ("gcsfs",),
    "az": ("adlfs",),
    "tables": ("pyiceberg", "psycopg2"),
    "measures": ("textstat",),
    "papers": ("sklearn",),
    "otlp": ("opentelemetry",),
    "hub": ("huggingface_hub",),
    "mlflow": ("mlflow",),
    "wandb": ("wandb",),
}


class NotInstalled(Failure):
    """A library of an extra is missing; the message says how to install it."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed: {installation(extra)}")


def installation(extra: str) -> str:
    """Returns the command that installs an extra; in a checkout it runs from the root."""
    return f"pip install -e '.[{extra}]'" if _CHECKOUT else f"pip install '{NAME}[{extra}]'"


def check_installed(extra: str, *libraries: str) -> None:
    for library in libraries:
        if find_spec(library) is None:
            raise NotInstalled(library, extra)


def missing_extra(error: ModuleNotFoundError) -> NotInstalled | None:
    """Returns what to tell about a failed import; None if no extra has the module."""
    library = (error.name or "").partition(".")[0]
    extra = next((extra for extra, libraries in EXTRAS.items() if library in libraries), None)
    return NotInstalled(library, extra) if extra else None
