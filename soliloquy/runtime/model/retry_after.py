"""Parses HTTP's Retry-After header."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

# Longer waits are cut to this.
MOST_SECONDS = 600.0


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Returns the seconds to wait, from a number or a date; 0 if the header is missing or unreadable."""
    value = headers.get("Retry-After", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except ValueError:
            return 0.0
    return min(max(0.0, seconds), MOST_SECONDS) if seconds == seconds else 0.0
