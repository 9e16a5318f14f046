"""Keeps from each tenant what belongs to others."""

from contextvars import ContextVar

from soliloquy.v1.runs_pb2 import Run

# The current caller's, set on admission; empty for a caller of the installation, who sees what belongs to anybody.
TENANT: ContextVar[str] = ContextVar("tenant", default="")
# The runs of the chats, and of the dialogues with a teacher, that the installation keeps; each tenant has its own.
_CHATS, _SEATS = "chats", "seats"


def sees(tenant: str, owner: str) -> bool:
    """Whether a caller of this tenant sees what belongs to that one."""
    return tenant in ("", owner)


def chats_of(tenant: str) -> str:
    """Returns the id of the run of the chats that a tenant keeps."""
    return f"{_CHATS}.{tenant}" if tenant else _CHATS


def seats_of(tenant: str) -> str:
    """Returns the id of the run of the dialogues that a tenant's teachers have."""
    return f"{_SEATS}.{tenant}" if tenant else _SEATS


def owner_of(run: Run) -> str:
    """Returns the tenant of a run that no caller of the gateway started; empty for the installation."""
    kind, _, tenant = run.id.partition(".")
    return tenant if kind in (_CHATS, _SEATS) else ""
