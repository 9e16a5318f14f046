"""The interval of a share."""

import math

# 95 % of the standard normal distribution lie within.
_Z = 1.959964


def wilson(passed: float, of: int) -> tuple[float, float]:
    """Returns the 95 % Wilson interval, which is sound for few cases and for shares of 0 and 1."""
    if not of:
        return 0.0, 1.0
    share, spread = passed / of, _Z**2 / of
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
