"""Starts and stops the processes of a cluster. None outlives this process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_TETHERED = Path(__file__).with_name("tethered.py")
# The kernel ties a child to the thread that started it, so that thread must live as long as this process.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafka-starter")


def start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Appends both outputs to the log."""
    tethered = [sys.executable, "-I", "-S", str(_TETHERED), str(os.getpid()), *command]
    with log.open("ab") as output:
        return _STARTER.submit(
            subprocess.Popen, tethered, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        ).result()


def end(processes: Iterable[subprocess.Popen[bytes]], *, seconds: float) -> None:
    """Sends SIGTERM to all at once, and SIGKILL to those that do not end in time."""
    ended = list(processes)
    for process in ended:
        process.terminate()
    for process in ended:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
