"""`soliloquy generate` on an installation, as a process that a test may kill and start again."""

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
    """Entered, it runs; left, it does not."""

    def __init__(self, installation: Installation, out: Path, *, conversations: int, in_flight: int) -> None:
        self._installation = installation
        self._command = command(out, conversations=conversations, in_flight=in_flight, **installation.reach)
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
        """Also again, once it has ended: it goes on from where it was."""
        self._log.unlink(missing_ok=True)
        self._process = processes.start(self._command, self._log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(END_SECONDS)

    def reach(self, collected: int) -> None:
        """Returns when so many conversations are collected."""
        assert self._moves_until(lambda: self.collected >= collected), f"it ended before: {self._said}"

    def end(self) -> tuple[int, str]:
        """Its exit status and all that it said, once it has ended."""
        self._moves_until(lambda: False)
        return self.process.returncode, self._said

    def finish(self) -> None:
        """Returns when it has ended well."""
        status, said = self.end()
        assert status == 0, said

    @property
    def _said(self) -> str:
        return self._log.read_text("utf-8")

    def _moves_until(self, there: Callable[[], bool]) -> bool:
        """False where the run ended first; one that stands still for long fails."""
        moved_at, last = time.monotonic(), self.collected
        while not there():
            if not self.goes_on:
                assert "Traceback" not in self._said, self._said
                if REFUSED not in self._said:
                    return False
                # It was started while no broker was up: whoever did so does it again.
                self.start()
            assert self._installation.runs, f"up has ended: {self._installation.said[-2000:]}"
            if (collected := self.collected) > last:
                moved_at, last = time.monotonic(), collected
            stalled = time.monotonic() - moved_at
            assert stalled < STALL_SECONDS, f"it stands still at {last}: {self._installation.said[-2000:]}"
            time.sleep(0.02)
        return True
