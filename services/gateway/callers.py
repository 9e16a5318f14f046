"""The caller of the current call: set on admission, read where a caller is recorded."""

from contextvars import ContextVar

# The name of the token or the certificate; empty where none is required.
CALLER: ContextVar[str] = ContextVar("caller", default="")
