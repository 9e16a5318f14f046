"""The audit log: a line for each call that changes something, and for each that was refused."""

import logging
from dataclasses import dataclass

# Targets are cut: a caller may name anything.
_LONGEST = 200

_log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class AuditRecord:
    """One call, logged when it is over."""

    # The token's name; the address until the token is known.
    who: str
    what: str
    # The run, dead letter or chat that the call names, once it is parsed.
    target: str = ""
    # "done", a refusal's code, "left" where the caller disconnected, or "failed".
    outcome: str = "failed"
    streamed: bool = False


def log_call(call: AuditRecord) -> None:
    fields = {"who": call.who, "what": call.what, "target": _plain(call.target), "outcome": call.outcome}
    _log.info("audit", extra={"fields": fields})


def target_of(request: object) -> str:
    """The thing that a request is about."""
    names = (getattr(request, name, "") for name in ("run", "id", "request_id"))
    return next((str(name) for name in names if name), "")


def _plain(text: str) -> str:
    """On one line, whatever the caller sent."""
    return text[:_LONGEST].encode("unicode_escape").decode("ascii")
