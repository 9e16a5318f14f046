"""Runs `soliloquy generate` on an installation, as a process that a test may kill and restart."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.chaos.kafka.installation import END_SECONDS, Installation
from tests.e2e.runs import command, journal_frames
from tests.kafka import processes

STALL_SECONDS = 120.0
REFUSED = "refuses connections"


class Run:
    """Runs inside the `with` block and not outside it."""

    def __init__(
        self, installation: Installation, out: Path, *, conversations: int, in_flight: int, enrich: bool = False
    ) -> None:
        self._installation = installation
        self._command = command(out, conversations=conversations, in_flight=in_flight, **installation.reach)
        if enrich:
            self._command.append("--enrich")
        self._log = out.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None
        self.out = out

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "it has not been started"
        return self._process

    @property
    def goes_on(self) -> bool:
        return self.process.poll() is None

    @property
    def collected(self) -> int:
        return journal_frames(self.out)

    def start(self) -> None:
        """Starts the run, or resumes it once it has ended."""
        self._log.unlink(missing_ok=True)
        self._process = processes.start(self._command, self._log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(END_SECONDS)

    def reach(self, collected: int) -> None:
        """Returns when so many conversations are collected."""
        assert self._moves_until(lambda: self.collected >= collected), f"it ended before: {self._said}"

    def end(self) -> tuple[int, str]:
        """Returns the exit status and the output, once the run has ended."""
        self._moves_until(lambda: False)
        return self.process.returncode, self._said

    def finish(self) -> None:
        """Returns when the run has ended well."""
        status, said = self.end()
        assert status == 0, said

    @property
    def _said(self) -> str:
        return self._log.read_text("utf-8")

    def _moves_until(self, there: Callable[[], bool]) -> bool:
        """Returns False if the run ended first; fails if it stands still for long."""
        moved_at, last = time.monotonic(), self.collected
        while not there():
            if not self.goes_on:
                assert "Traceback" not in self._said, self._said
                if REFUSED not in self._said:
                    return False
                # It was started without a broker: restart it, as a user would.
                self.start()
            assert self._installation.runs, f"up has ended: {self._installation.said[-2000:]}"
            if (collected := self.collected) > last:
                moved_at, last = time.monotonic(), collected
            stalled = time.monotonic() - moved_at
            assert stalled < STALL_SECONDS, f"it stands still at {last}: {self._installation.said[-2000:]}"
            time.sleep(0.02)
        return True
