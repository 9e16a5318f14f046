"""`soliloquy generate` on an installation, as a process that a test may kill and start again."""

import time
from collections.abc import Callable
from pathlib import Path

from tests.chaos.kafka.installation import Installation
from tests.e2e.runs import command, journal_lines, kill, start

STALL_SECONDS = 120.0


class Run:
    def __init__(self, installation: Installation, out: Path, *, conversations: int, in_flight: int) -> None:
        self._installation = installation
        self._command = command(out, conversations=conversations, in_flight=in_flight, **installation.reach)
        self.out = out
        self.start()

    @property
    def collected(self) -> int:
        return journal_lines(self.out)

    def start(self) -> None:
        """Also again, once it has ended: it goes on from where it was."""
        self.process = start(self._command)

    def kill_and_start(self) -> None:
        kill(self.process.pid)
        self.process.communicate()
        self.start()

    def reach(self, collected: int) -> None:
        """Returns when so many conversations are collected."""
        assert self._moves_until(lambda: self.collected >= collected), f"it ended before: {self._words()}"

    def end(self) -> tuple[int, str]:
        """Its exit status and all that it said, once it has ended."""
        self._moves_until(lambda: False)
        words = self._words()
        return self.process.returncode, words

    def finish(self) -> None:
        """Returns when it has ended well."""
        status, words = self.end()
        assert status == 0, words

    def _moves_until(self, there: Callable[[], bool]) -> bool:
        """False where the run ended first; one that stands still for long fails."""
        moved_at, last = time.monotonic(), self.collected
        while not there():
            if self.process.poll() is not None:
                return False
            assert self._installation.runs, f"up has ended: {self._installation.said[-2000:]}"
            if (collected := self.collected) > last:
                moved_at, last = time.monotonic(), collected
            stalled = time.monotonic() - moved_at
            assert stalled < STALL_SECONDS, f"it stands still at {last}: {self._installation.said[-2000:]}"
            time.sleep(0.02)
        return True

    def _words(self) -> str:
        output, errors = self.process.communicate()
        return f"{output}{errors}"
