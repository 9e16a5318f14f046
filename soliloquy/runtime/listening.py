"""Binds an address to listen on."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from soliloquy.runtime.failure import Failure


class CannotListen(Failure):
    """The address is in use or does not belong to this machine."""


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    host, _, port = address.rpartition(":")
    with ExitStack() as opened:
        try:
            places = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
            family, kind, protocol, _, place = places[0]
            listener = opened.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen()
        except OSError as error:
            raise CannotListen(f"cannot listen on {address}: {error.strerror}: choose another address") from error
        yield listener
