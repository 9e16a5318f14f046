"""Exports the runs of a gateway, datasets and the sandbox; soliloquy/README.md lists all of it.

Names are imported on first use, so that reading a dataset does not load gRPC.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soliloquy.client.async_runs import AsyncRuns
    from soliloquy.client.calls import InvalidRequest, JobRefused, NotFound, PermissionDenied, ServiceUnavailable
    from soliloquy.client.runs import Runs
    from soliloquy.client.sandbox import Execution, Job, Limits, Sandbox
    from soliloquy.client.states import is_over, state_of
    from soliloquy.dataset.reading import Dataset, Filter, NoDataset, place_after
    from soliloquy.runtime.tls import Tls
    from soliloquy.runtime.values import Unserialisable

__all__ = [
    "AsyncRuns",
    "Dataset",
    "Execution",
    "Filter",
    "InvalidRequest",
    "Job",
    "JobRefused",
    "Limits",
    "NoDataset",
    "NotFound",
    "PermissionDenied",
    "Runs",
    "Sandbox",
    "ServiceUnavailable",
    "Tls",
    "Unserialisable",
    "is_over",
    "place_after",
    "state_of",
]

_ERRORS = ("InvalidRequest", "JobRefused", "NotFound", "PermissionDenied", "ServiceUnavailable")
_NAMES = {
    "soliloquy.client.async_runs": ("AsyncRuns",),
    "soliloquy.client.calls": _ERRORS,
    "soliloquy.client.runs": ("Runs",),
    "soliloquy.client.sandbox": ("Execution", "Job", "Limits", "Sandbox"),
    "soliloquy.client.states": ("is_over", "state_of"),
    "soliloquy.runtime.tls": ("Tls",),
    "soliloquy.runtime.values": ("Unserialisable",),
    "soliloquy.dataset.reading": ("Dataset", "Filter", "NoDataset", "place_after"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        from soliloquy.runtime.extensions import missing_extra

        raise missing_extra(error) or error from error
