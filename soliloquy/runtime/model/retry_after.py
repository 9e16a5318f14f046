"""How long an HTTP server wants to be left alone."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

# A server that names a longer time is asked again after this one.
MOST_SECONDS = 600.0


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds of the header Retry-After, given as a number or as a date; 0 where it says nothing that can be read."""
    told = headers.get("Retry-After", "").strip()
    try:
        seconds = float(told)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(told).timestamp() - now
        except ValueError:
            return 0.0
    return min(max(0.0, seconds), MOST_SECONDS) if seconds == seconds else 0.0
