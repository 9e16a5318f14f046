"""Doing without tokens, where nobody but this machine can call: by every address, and by what a browser says."""

import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit


class OpenToOthers(Exception):
    """An address can be reached from other machines, and nobody is asked who they are."""


def check_closed(addresses: Iterable[str]) -> None:
    """Of addresses to listen on without tokens."""
    for address in addresses:
        host = address.rpartition(":")[0].strip("[]")
        if not _all_loopback(host):
            raise OpenToOthers(
                f"{address} can be reached from other machines: say with --tokens FILE who may call, "
                "or listen on 127.0.0.1"
            )


def _all_loopback(host: str) -> bool:
    try:
        found = {str(place[4][0]) for place in socket.getaddrinfo(host or None, None, flags=socket.AI_PASSIVE)}
    except OSError:
        return False
    return all(ipaddress.ip_address(place.partition("%")[0]).is_loopback for place in found)


def names_loopback(authority: str) -> bool:
    """Of a Host header: a page of another site that has its name point here still sends that name."""
    try:
        host = urlsplit(f"//{authority}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_origin(authority: str, origin: str) -> bool:
    """Whether a page that a browser names as the origin of a request came from the host that is asked."""
    scheme, _, rest = origin.partition("://")
    return scheme in ("http", "https") and rest.lower() == authority.lower()
