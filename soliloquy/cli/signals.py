"""Ends commands on SIGINT and SIGTERM."""

import asyncio
import signal


def end_when_asked() -> None:
    """Makes SIGTERM end a command like Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def stop_signals() -> asyncio.Event:
    """Returns an event that SIGINT and SIGTERM set."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped
