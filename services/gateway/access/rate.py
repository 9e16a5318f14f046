"""Token buckets with the limits of `rate.toml`."""

import ipaddress
import time
import tomllib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Whoever has not called for the longest time is forgotten for another.
MOST_CALLERS = 10_000
# Who has one address of IPv6 has all that share this much of it.
_OWN_BITS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    burst: float
    per_second: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    calls: Limit
    steering: Limit
    strangers: Limit


_TABLE = tomllib.loads(Path(__file__).with_name("rate.toml").read_text("utf-8"))
LIMITS = Limits(**{name: Limit(**limit) for name, limit in _TABLE.items()})


class Buckets:
    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        # What is left of each, and when that was.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> float:
        """The seconds until the next may be had; 0 where one was."""
        now = self._clock()
        left, at = self._left.pop(who, (self._limit.burst, now))
        left = min(self._limit.burst, left + (now - at) * self._limit.per_second)
        wait = 0.0 if left >= 1.0 else (1.0 - left) / self._limit.per_second
        self._left[who] = (left if wait else left - 1.0, now)
        if len(self._left) > MOST_CALLERS:
            self._left.popitem(last=False)
        return wait


def counted_as(address: str) -> str:
    """What the calls from an address are counted under."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.ip_network((int(parsed) >> _OWN_BITS << _OWN_BITS, _OWN_BITS)))
