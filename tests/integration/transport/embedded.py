"""The embedded log as the contract's tests and their workers reach it."""

from pathlib import Path

from soliloquy.runtime.transports.embedded import EmbeddedTransport


def connect(address: str) -> EmbeddedTransport:
    return EmbeddedTransport(Path(address))
