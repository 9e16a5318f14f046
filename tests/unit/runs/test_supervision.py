"""Processes are kept alive, replaced and ended; those here are small scripts that are asked nothing."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from soliloquy.runs import supervision
from soliloquy.runs.supervision import ProcessSpec, Supervisor
from soliloquy.runtime.failure import Failure
from tests.e2e.runs import alive, kill
from tests.waiting import until

# It writes down its process id, says that it serves, and ends with its lifeline.
SERVES = """
import os, sys
print(os.getpid(), file=open(sys.argv[1], "a"), flush=True)
print("ready", flush=True)
sys.stdin.read()
"""
# It takes no notice of a SIGTERM.
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + SERVES
# It finishes what it is at.
THOROUGH = f"""
import pathlib, signal, sys
def finish(*_):
    pathlib.Path(sys.argv[1] + ".done").touch()
    sys.exit()
signal.signal(signal.SIGTERM, finish)
{SERVES}
"""
# It cannot serve while there is a file in its way, and a restart would not help.
BREAKABLE = f"""
import os, sys
if os.path.exists(sys.argv[1] + ".broken"):
    print(os.getpid(), file=open(sys.argv[1], "a"), flush=True)
    print("the disk is full", file=sys.stderr)
    sys.exit({supervision.HOPELESS})
{SERVES}
"""
# It writes down what it hears.
HEARS = """
import os, sys
print(os.getpid(), file=open(sys.argv[1], "a"), flush=True)
print("ready", flush=True)
for line in sys.stdin:
    print(line.strip(), file=open(sys.argv[1] + ".heard", "a"), flush=True)
"""
# It serves until it is told to have a fault, which may be while it prints.
FAULTY = f"""
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"waits for the model\\n"))
{SERVES}
"""
FICKLE = SERVES.replace("sys.stdin", "print('the broker is silent\\nready', flush=True); sys.stdin")


@contextmanager
def hearing() -> Iterator[list[str]]:
    """Returns what supervisors log inside the block."""
    told: list[str] = []
    handler, log = logging.Handler(), logging.getLogger(supervision.__name__)
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield told
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)


class Theatre:
    """A supervisor at work, what it told, and the processes that there were."""

    def __init__(
        self, folder: Path, scripts: dict[str, str], grace: float, told: list[str], *, lasting: bool = False
    ) -> None:
        self.told = told
        self._folder = folder
        specs = [self._spec(name, script, grace) for name, script in scripts.items()]
        self.supervisor = Supervisor(specs, lasting=lasting)

    def pids(self, name: str = "one") -> list[int]:
        path = self._folder / name
        return [int(line) for line in path.read_text("utf-8").split()] if path.exists() else []

    async def started(self, times: int) -> None:
        await until(lambda: len(self.pids()) == times)

    def _spec(self, name: str, script: str, grace: float) -> ProcessSpec:
        command = [sys.executable, "-S", "-c", script, str(self._folder / name)]
        main = partial(os.execv, sys.executable, command)
        return ProcessSpec(name=name, main=main, assignment=b"{}", grace=grace, hears=name == "hearing")


@asynccontextmanager
async def supervising(
    folder: Path, *, grace: float = 5.0, lasting: bool = False, **scripts: str
) -> AsyncIterator[Theatre]:
    with hearing() as told:
        theatre = Theatre(folder, scripts, grace, told, lasting=lasting)
        keeping = asyncio.create_task(theatre.supervisor.run())
        try:
            await theatre.supervisor.ready()
            yield theatre
        finally:
            await theatre.supervisor.stop()
            await keeping
            theatre.supervisor.close()
    assert not any(alive(pid) for name in scripts for pid in theatre.pids(name))


async def last_words(folder: Path, script: str) -> str:
    """Returns the failure of a supervisor that gives up."""
    with (
        hearing() as told,
        closing(Theatre(folder, {"one": script}, 5.0, told).supervisor) as supervisor,
        pytest.raises(Failure) as failure,
    ):
        await supervisor.run()
    return "\n".join([*told, str(failure.value)])


async def test_a_killed_process_is_started_again_at_once(tmp_path: Path) -> None:
    async with supervising(tmp_path, one=SERVES) as theatre:
        for deaths in range(1, 2 * supervision.DEATHS_IN_A_ROW):
            kill(theatre.pids()[-1])
            await theatre.started(deaths + 1)
            await theatre.supervisor.ready()
    assert set(theatre.told) == {"one was killed by SIGKILL; restarting"}


async def test_one_that_never_serves_is_tried_with_growing_pauses_and_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "PAUSE_SECONDS", 0.01)
    assert (await last_words(tmp_path, "import sys; sys.exit('no such thing')")).splitlines() == [
        "one exited with status 1: no such thing; restarting",
        "one exited with status 1: no such thing; restarting in 0.01 s",
        "one exited with status 1: no such thing; restarting in 0.02 s",
        "one exited with status 1: no such thing; restarting in 0.04 s",
        "one exited with status 1: no such thing; it exited 5 times before it could serve",
    ]


async def test_one_that_says_it_is_hopeless_is_not_started_again(tmp_path: Path) -> None:
    script = "import sys; print('broken\\nno runsc here', file=sys.stderr); sys.exit(2)"
    assert await last_words(tmp_path, script) == "no runsc here"


async def test_the_others_end_in_order_when_one_is_hopeless(tmp_path: Path) -> None:
    # It waits until the other serves.
    hopeless = "import os, sys, time\nwhile not os.path.exists(sys.argv[1][:-3] + 'two'): time.sleep(0.01)\nsys.exit(2)"
    with hearing() as told:
        supervisor = Theatre(tmp_path, {"one": hopeless, "two": THOROUGH}, 5.0, told).supervisor
        with closing(supervisor), pytest.raises(Failure):
            await supervisor.run()
        # Nothing is left to be stopped.
        await supervisor.stop()
    assert (tmp_path / "two.done").exists()
    assert told == []


async def test_a_lasting_process_that_has_served_is_never_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "PAUSE_SECONDS", 0.001)
    async with supervising(tmp_path, lasting=True, one=BREAKABLE) as theatre:
        (tmp_path / "one.broken").touch()
        kill(theatre.pids()[-1])
        await until(lambda: len(theatre.pids()) > 2 * supervision.DEATHS_IN_A_ROW)
        assert theatre.supervisor.fault == "one exited with status 2: the disk is full"
        (tmp_path / "one.broken").unlink()
        await theatre.supervisor.ready()
        assert theatre.supervisor.fault == ""


async def test_of_much_that_was_said_the_last_line_is_kept(tmp_path: Path) -> None:
    script = "import sys; sys.stderr.write('x' * 1_000_000 + '\\nthe end\\n'); sys.exit(2)"
    assert await last_words(tmp_path, script) == "the end"


async def test_a_process_that_is_stopped_finishes_first(tmp_path: Path) -> None:
    async with supervising(tmp_path, one=THOROUGH) as theatre:
        pass
    assert (tmp_path / "one.done").exists()
    assert theatre.told == []


async def test_one_that_does_not_end_is_killed_after_its_grace_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "LEAVE_SECONDS", 0.1)
    async with supervising(tmp_path, grace=0.1, one=STUBBORN) as theatre:
        pass
    assert theatre.told == ["one did not end within 0.1 s: killed"]


async def test_processes_are_replaced_one_after_the_other(tmp_path: Path) -> None:
    async with supervising(tmp_path, one=SERVES, two=SERVES) as theatre:
        await theatre.supervisor.replace_each()
        for name in ("one", "two"):
            before, after = theatre.pids(name)
            assert not alive(before)
            assert alive(after)
    assert theatre.told == ["one replaced", "two replaced"]


async def test_a_fault_is_passed_on_and_so_is_its_end(tmp_path: Path) -> None:
    async with supervising(tmp_path, one=FICKLE) as theatre:
        await until(lambda: len(theatre.told) == 2)
    assert theatre.told == ["one: the broker is silent", "one serves again"]


async def test_a_process_hears_of_the_faults_of_the_others(tmp_path: Path) -> None:
    async with supervising(tmp_path, hearing=HEARS, one=FAULTY) as theatre:

        def has_heard() -> bool:
            # One signal that comes just before it begins to read would have no effect.
            os.kill(theatre.pids()[0], signal.SIGUSR1)
            return '["waits for the model"]' in heard(tmp_path / "hearing.heard")

        await until(has_heard, pause=0.1)


def heard(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
