"""Says how an endpoint answers: how many calls wait, since when none is answered, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointStatus:
    # The endpoint with its address and model.
    where: str
    # Calls without an answer so far, and the age of the oldest.
    waiting: int
    oldest_seconds: float
    # Requests that were sent and have no answer yet.
    in_flight: int
    # How long no call has got an answer; 0 while the endpoint answers or is at work on a call.
    failing_seconds: float
    # The last fault since a call got an answer.
    error: str
    # Whether no call can succeed until a person fixes something.
    refused: bool
    # The batches that the endpoint works on, and the calls in them.
    batches: int = 0
    batched: int = 0


def merged(statuses: Iterable[EndpointStatus]) -> list[EndpointStatus]:
    """Returns one status for each endpoint that several processes ask: it fails where none of them succeeds."""
    found: dict[str, EndpointStatus] = {}
    for one in statuses:
        if (other := found.get(one.where)) is None:
            found[one.where] = one
            continue
        asking = [each for each in (one, other) if each.waiting or each.failing_seconds]
        found[one.where] = replace(
            other,
            waiting=one.waiting + other.waiting,
            oldest_seconds=max(one.oldest_seconds, other.oldest_seconds),
            in_flight=one.in_flight + other.in_flight,
            failing_seconds=min((each.failing_seconds for each in asking), default=0.0),
            error=other.error or one.error,
            refused=other.refused or one.refused,
        )
    return list(found.values())
