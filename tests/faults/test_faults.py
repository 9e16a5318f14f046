"""A run whose writes fail, or whose processes stop, ends with the same bytes once it is run again."""

import errno
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from soliloquy.cli.tables import table
from tests.e2e.runs import (
    SOLILOQUY,
    command,
    dataset,
    grown,
    killed_at_end,
    said,
    wait_for_end,
    wait_for_frames,
    worker_pids,
)
from tests.integration.executor.support import needs_runsc, runsc_pids

FAULTS = int(os.environ.get("FAULTS", "12"))
CONVERSATIONS = int(os.environ.get("CONVERSATIONS", "24"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    # Of the calls on a run's files "change" or "open"; none of them fails for the others.
    calls: str = ""
    error: int = 0
    torn: bool = False
    # By how much the clock jumps to and fro.
    clock_seconds: int = 0
    stops: bool = False
    most_bytes: int = 0


FAULTS_BY_NAME = {
    "ENOSPC": Fault(calls="change", error=errno.ENOSPC),
    "EIO": Fault(calls="change", error=errno.EIO),
    "torn": Fault(calls="change", error=errno.EIO, torn=True),
    "EMFILE": Fault(calls="open", error=errno.EMFILE),
    "ENOMEM": Fault(calls="open", error=errno.ENOMEM),
    "clock": Fault(clock_seconds=86_400),
    "SIGSTOP": Fault(stops=True),
    "memory": Fault(most_bytes=400 * 1024**2),
}
STOP_SECONDS = 2.0
MEMORY = Path("/sys/fs/cgroup/memory")
# Files of a run, each with the calls that change it; later ones are never reached.
FILES = {
    ".run/log": 12 * CONVERSATIONS,
    ".run/journal": CONVERSATIONS,
    ".run/accepted": 6,
    ".run/rejected": 6,
    ".run/timings": 6,
    ".run/run.json": 2,
    ".manifest.json": 2,
}
# A process opens each of them a few times.
OPENS = 4
MOST_SECONDS = 300


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("reference") / "dataset"
    grown(out, conversations=CONVERSATIONS, noise="real")
    return dataset(out)


def faulty_run(out: Path, name: str, shim: Path, moments: random.Random) -> tuple[str, str, str, list[int]]:
    """Returns how the run ended, what the fault struck, what the run said, and its processes."""
    fault = FAULTS_BY_NAME[name]
    file, changes = moments.choice(list(FILES.items()))
    # Mostly early, because few processes write much.
    at = int(moments.triangular(1, changes if fault.calls == "change" else OPENS, 1))
    mark = Path(f"{out}.reached")
    environment = {
        "LD_PRELOAD": str(shim),
        "FAULT_UNDER": f"{out}/{file}",
        "FAULT_AT": str(at),
        "FAULT_CALLS": fault.calls,
        "FAULT_ERRNO": str(fault.error),
        "FAULT_MARK": str(mark),
        **({"FAULT_TORN": "1"} if fault.torn else {}),
        **({"FAULT_CLOCK": str(fault.clock_seconds)} if fault.clock_seconds else {}),
    }
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        for variable, value in environment.items():
            patch.setenv(variable, value)
        process = stack.enter_context(killed_at_end(_command(out, workers=2)))
        if fault.most_bytes:
            stack.enter_context(_little_memory(process.pid, fault.most_bytes))
        wait_for_frames(out, 1, process, seconds=MOST_SECONDS)
        workers = worker_pids(process.pid) if process.poll() is None else []
        if fault.stops and workers:
            wait_for_frames(out, moments.randrange(1, CONVERSATIONS), process, seconds=MOST_SECONDS)
            _stop(moments.choice([process.pid, *workers, *runsc_pids(out.parent)]))
        _, errors = process.communicate(timeout=MOST_SECONDS)
    struck = Path(mark.read_text("utf-8")).name if mark.exists() else "" if fault.calls else f"({name})"
    ended = "survived" if process.returncode == 0 else "ended"
    return (ended if struck else "not reached"), struck, errors, [process.pid, *workers]


def _command(out: Path, *, workers: int = 1) -> list[str]:
    # With noise some conversations are rejected.
    return command(out, conversations=CONVERSATIONS, noise="real", workers=workers, in_flight=16)


@contextmanager
def _little_memory(pid: int, most_bytes: int) -> Iterator[None]:
    """Lets a process and those that it starts share so much memory; the kernel kills one that wants more."""
    group = MEMORY / f"faults-{pid}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(most_bytes), "ascii")
    (group / "cgroup.procs").write_text(str(pid), "ascii")
    try:
        yield
    finally:
        while (left := (group / "cgroup.procs").read_text("ascii").split()) and (group / "cgroup.procs").exists():
            for each in left:
                with suppress(ProcessLookupError):
                    os.kill(int(each), signal.SIGKILL)
            time.sleep(0.1)
        group.rmdir()


def _stop(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOP_SECONDS)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


@needs_runsc
@pytest.mark.timeout(6 * 3600)
def test_no_fault_loses_doubles_or_changes_a_conversation(
    tmp_path: Path, shim: Path, reference: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    names = [name for name, fault in FAULTS_BY_NAME.items() if not fault.most_bytes or os.access(MEMORY, os.W_OK)]
    counted: dict[str, Counter[str]] = {name: Counter() for name in names}
    places: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(FAULTS):
        moments, name = random.Random(number), names[number % len(names)]
        out = tmp_path / f"out-{number}"
        ended, struck, errors, processes = faulty_run(out, name, shim, moments)
        counted[name][ended] += 1
        places[struck] += 1
        wait_for_end(processes)
        if "Traceback" in errors:
            wrong.append(f"{number} {name}: {errors[-600:]}")
        again = said(_command(out))
        verified = said([SOLILOQUY, "verify", str(out)])
        if again.returncode or verified.returncode or dataset(out) != reference or runsc_pids(tmp_path):
            wrong.append(f"{number} {name}: {ended}; then {again.stderr[-300:]} {verified.stdout[-300:]}")
            counted[name]["wrong"] += 1
        print(number, name, ended, struck, *wrong[-1:] if wrong else ())
    made = table("fault", "survived", "ended, then resumed", "not reached", "lost, doubled or differing")
    for name, found in counted.items():
        made.add_row(name, *(str(found[kind]) for kind in ("survived", "ended", "not reached", "wrong")))
    Console().print(made)
    struck_files = ", ".join(f"{name} {count}" for name, count in places.most_common() if name)
    print(f"{FAULTS} faults over {FAULTS * CONVERSATIONS:,} conversations: {struck_files}")
    assert not wrong
