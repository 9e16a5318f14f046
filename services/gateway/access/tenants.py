"""Keeps from each tenant what belongs to others."""

from contextvars import ContextVar

from soliloquy.v1.runs_pb2 import Run

# The current caller's, set on admission; empty for a caller of the installation, who sees what belongs to anybody.
TENANT: ContextVar[str] = ContextVar("tenant", default="")
# The run of the chats that the installation keeps; each tenant has one of its own.
_CHATS = "chats"


def sees(tenant: str, owner: str) -> bool:
    """Whether a caller of this tenant sees what belongs to that one."""
    return tenant in ("", owner)


def chats_of(tenant: str) -> str:
    """Returns the id of the run of the chats that a tenant keeps."""
    return f"{_CHATS}.{tenant}" if tenant else _CHATS


def owner_of(run: Run) -> str:
    """Returns the tenant of a run that no caller of the gateway started; empty for the installation."""
    chats, _, tenant = run.id.partition(".")
    return tenant if chats == _CHATS else ""
