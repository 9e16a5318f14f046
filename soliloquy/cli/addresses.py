"""Addresses on the command line: 127.0.0.1:50051, [::1]:50051, sandbox.example:50051."""

import re
import socket

import click


class Address(click.ParamType[str]):
    name = "address"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> str:
        match = re.fullmatch(r"(?:[\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", str(value))
        if match is None or int(match[1]) > 65_535:
            self.fail(f"invalid address {value!r}: use HOST:PORT, e.g. 127.0.0.1:50051", param, context)
        return match[0]


ADDRESS = Address()


def free_address() -> str:
    """Returns an address of this machine that no process listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"
