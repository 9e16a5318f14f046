"""Limits how often a caller may call."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from soliloquy.runtime.files import table_beside

# Beyond this number, the caller who has been silent longest is forgotten.
MOST_CALLERS = 10_000
# One IPv6 caller owns all addresses with the same prefix of this length.
_OWN_BITS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimit:
    burst: float
    per_second: float


# By what is counted: calls, steering, strangers, visitors.
RateLimits = Mapping[str, RateLimit]
RATE_LIMITS: RateLimits = {name: RateLimit(**limit) for name, limit in table_beside(__file__, "rate.toml").items()}


class TokenBuckets:
    def __init__(self, limit: RateLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        # The tokens left to each caller, and when they were counted.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> float:
        """Takes a token; returns the seconds until the next one, or 0 where it got one."""
        now = self._clock()
        left, at = self._left.pop(who, (self._limit.burst, now))
        left = min(self._limit.burst, left + (now - at) * self._limit.per_second)
        wait = 0.0 if left >= 1.0 else (1.0 - left) / self._limit.per_second
        self._left[who] = (left if wait else left - 1.0, now)
        if len(self._left) > MOST_CALLERS:
            self._left.popitem(last=False)
        return wait


@lru_cache(maxsize=MOST_CALLERS)
def rate_key(address: str) -> str:
    """The key under which calls from an address are counted."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.ip_network((int(parsed) >> _OWN_BITS << _OWN_BITS, _OWN_BITS)))
