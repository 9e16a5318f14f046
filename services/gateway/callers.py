"""Who is asking: set by whatever let the call in, read where it is written down."""

from contextvars import ContextVar

# The name on the token or the certificate; empty where none is needed.
CALLER: ContextVar[str] = ContextVar("caller", default="")
