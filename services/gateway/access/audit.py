"""What is kept of who did what: a line of the log for each call that steers, and for each that was refused."""

import logging
from dataclasses import dataclass

# Longer names of targets are cut: a caller may name anything.
_LONGEST = 200

_log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class Call:
    """One call, as it is told when it is over."""

    # The name on the token, and before that is known the address.
    who: str
    what: str
    # The run, dead letter or chat that is named, once it is read.
    target: str = ""
    # "done", a refusal's code, "left" where the caller did, or "failed".
    outcome: str = "failed"
    # Whether its answer has no end of its own.
    streamed: bool = False


def tell(call: Call) -> None:
    fields = {"who": call.who, "what": call.what, "target": _plain(call.target), "outcome": call.outcome}
    _log.info("audit", extra={"fields": fields})


def target_of(request: object) -> str:
    """What a request is about, whichever field names it."""
    names = (getattr(request, name, "") for name in ("run", "id", "request_id"))
    return next((str(name) for name in names if name), "")


def _plain(text: str) -> str:
    """On one line, whatever a caller put into it."""
    return text[:_LONGEST].encode("unicode_escape").decode("ascii")
