"""A conversation's lineage: the digests of the services that touched it, in the headers of its events."""

import re
from functools import lru_cache
from itertools import islice

from soliloquy.runtime.seeds import digest

# A conversation goes through eight services; each that restarts with other settings adds one.
MOST = 64
_DIGITS = 12
_DIGEST = re.compile(rf"\b[\da-f]{{{_DIGITS}}}\b", re.ASCII)


def short_digest(serialised: bytes) -> str:
    return digest(serialised.hex())[:_DIGITS]


@lru_cache
def extended(lineage: str, service: str) -> str:
    """Returns the lineage with the digest of one more service."""
    return lineage if service in lineage or lineage.count(" ") + 1 >= MOST else f"{lineage} {service}".lstrip()


@lru_cache
def checked(text: str) -> str:
    """Returns what is a lineage of a text that anybody may have written."""
    return " ".join(islice(dict.fromkeys(found[0] for found in _DIGEST.finditer(text)), MOST))
