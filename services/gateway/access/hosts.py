"""Tells addresses that only this machine reaches, and requests that come from pages of other sites."""

import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from soliloquy.runtime.failure import Failure


def check_closed(addresses: Iterable[str]) -> None:
    """Raises Failure for an address that other machines can reach."""
    for address in addresses:
        host = address.rpartition(":")[0].strip("[]")
        if not _all_loopback(host):
            raise Failure(f"{address} can be reached from other machines: set --tokens FILE, or listen on 127.0.0.1")


def _all_loopback(host: str) -> bool:
    try:
        addresses = {str(place[4][0]) for place in socket.getaddrinfo(host or None, None, flags=socket.AI_PASSIVE)}
    except OSError:
        return False
    return all(ipaddress.ip_address(place.partition("%")[0]).is_loopback for place in addresses)


def names_loopback(authority: str) -> bool:
    """Checks a Host header: a page of another site whose name resolves here still sends that site's name."""
    try:
        host = urlsplit(f"//{authority}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_origin(authority: str, origin: str) -> bool:
    """Whether the page named in an Origin header came from the host that is called."""
    scheme, _, rest = origin.partition("://")
    return scheme in ("http", "https") and rest.lower() == authority.lower()
