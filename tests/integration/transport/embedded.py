"""Connects the contract's tests and their workers to the embedded log."""

from pathlib import Path

from soliloquy.runtime.transports.embedded import EmbeddedTransport


def connect(address: str) -> EmbeddedTransport:
    return EmbeddedTransport(Path(address))
