"""A run whose writes fail, or whose processes stop, ends with the same bytes once it is run again."""

import errno
import math
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from soliloquy.cli.tables import table
from soliloquy_services.executor.gvisor.cgroups import remove
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
from tests.faults.shim import Strike, environment
from tests.integration.executor.support import needs_runsc, runsc_pids

FAULTS = int(os.environ.get("FAULTS", "40"))
CONVERSATIONS = int(os.environ.get("CONVERSATIONS", "24"))
# The run to begin with: thousands of faults may be had in parts.
FIRST = int(os.environ.get("FIRST", "0"))
# Runs take turns: one recipe asks the sandbox at most turns, and the other has short conversations.
BANKS = {"soliloquy": "physics", "mathdial": "arithmetic"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One call on a run's files that fails."""

    # "change" or "open"
    calls: str
    error: int
    torn: bool = False


FAULTS_BY_NAME = {
    "ENOSPC": Fault(calls="change", error=errno.ENOSPC),
    "EIO": Fault(calls="change", error=errno.EIO),
    "torn": Fault(calls="change", error=errno.EIO, torn=True),
    "EMFILE": Fault(calls="open", error=errno.EMFILE),
    "ENOMEM": Fault(calls="open", error=errno.ENOMEM),
}
OF_EACH = 3
# What befalls processes: one that stops for a while, a clock that jumps to and fro, and little memory.
STOPS = 3
STOP_SECONDS = 2.0
CLOCK_SECONDS = 86_400
MOST_BYTES = 400 * 1024**2
MEMORY = Path("/sys/fs/cgroup/memory")
HAS_MEMORY = os.access(MEMORY, os.W_OK)
# Each run suffers many, so that a thousand of them take hours and not days.
FAULTS_A_RUN = OF_EACH * len(FAULTS_BY_NAME) + STOPS + 1 + HAS_MEMORY
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
# On a busy machine.
MOST_SECONDS = 300 + CONVERSATIONS


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    found = {}
    for recipe in BANKS:
        out = tmp_path_factory.mktemp("reference") / "dataset"
        grown(out, **_options(recipe))
        found[recipe] = dataset(out)
    return found


@dataclass(kw_only=True, slots=True)
class Suffered:
    """What struck a run, and how often it ended and was run again."""

    # The names of faults, each with the file it struck, if any.
    struck: list[tuple[str, str]] = field(default_factory=list)
    ends: int = 0
    errors: str = ""
    processes: list[int] = field(default_factory=list)


def strikes_on(out: Path, moments: random.Random) -> list[tuple[str, Strike]]:
    found = []
    for name, fault in FAULTS_BY_NAME.items():
        for each in range(OF_EACH):
            file, changes = moments.choice(list(FILES.items()))
            # Mostly early, because few processes write much.
            at = int(moments.triangular(1, changes if fault.calls == "change" else OPENS, 1))
            mark = Path(f"{out}.{name}-{each}")
            strike = Strike(
                calls=fault.calls, at=at, under=Path(f"{out}/{file}"), error=fault.error, torn=fault.torn, mark=mark
            )
            found.append((name, strike))
    return found


def faulty_run(out: Path, recipe: str, shim: Path, moments: random.Random) -> Suffered:
    """Runs the same command until no fault ends it."""
    strikes = strikes_on(out, moments)
    suffered = Suffered(struck=[("clock", "")])
    frames = sorted(moments.randrange(1, CONVERSATIONS) for _ in range(STOPS))
    for is_first in [True] + [False] * len(strikes):
        with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
            for variable, value in environment(shim, [strike for _, strike in strikes], CLOCK_SECONDS).items():
                patch.setenv(variable, value)
            process = stack.enter_context(killed_at_end(command(out, workers=2, **_options(recipe))))
            if is_first and HAS_MEMORY:
                stack.enter_context(_little_memory(process.pid))
                suffered.struck.append(("memory", ""))
            wait_for_frames(out, 1, process, seconds=MOST_SECONDS)
            workers = worker_pids(process.pid) if process.poll() is None else []
            suffered.processes += [process.pid, *workers]
            while frames and process.poll() is None:
                wait_for_frames(out, frames[0], process, seconds=MOST_SECONDS)
                if _stop(moments.choice([process.pid, *workers, *runsc_pids(out.parent)])):
                    suffered.struck.append(("SIGSTOP", ""))
                    frames.pop(0)
                elif process.poll() is None:
                    # A worker has ended, and another does its work.
                    workers = worker_pids(process.pid)
            suffered.errors += process.communicate(timeout=MOST_SECONDS)[1]
        if process.returncode == 0:
            break
        wait_for_end([process.pid, *workers])
        suffered.ends += 1
    suffered.struck += [(name, Path(strike.struck).name) for name, strike in strikes if strike.struck]
    return suffered


def _options(recipe: str) -> dict[str, Any]:
    # With noise some conversations are rejected.
    return {
        "recipe": recipe,
        "problems": BANKS[recipe],
        "conversations": CONVERSATIONS,
        "noise": "real",
        "in_flight": 16,
    }


@contextmanager
def _little_memory(pid: int) -> Iterator[None]:
    """Lets a process and those that it starts share so much memory; the kernel kills one that wants more."""
    group = MEMORY / f"faults-{pid}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(MOST_BYTES), "ascii")
    (group / "cgroup.procs").write_text(str(pid), "ascii")
    try:
        yield
    finally:
        remove([group])


def _stop(pid: int) -> bool:
    """Returns whether the process was there."""
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOP_SECONDS)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


@needs_runsc
@pytest.mark.timeout(6 * 3600)
def test_no_fault_loses_doubles_or_changes_a_conversation(
    tmp_path: Path, shim: Path, references: dict[str, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    struck: Counter[str] = Counter()
    differing: Counter[str] = Counter()
    places: Counter[str] = Counter()
    wrong: list[str] = []
    ends, runs = 0, math.ceil(FAULTS / FAULTS_A_RUN)
    for number in range(FIRST, FIRST + runs):
        recipe = list(BANKS)[number % len(BANKS)]
        out = tmp_path / f"out-{number}"
        suffered = faulty_run(out, recipe, shim, random.Random(number))
        ends += suffered.ends
        names = [name for name, _ in suffered.struck]
        struck.update(names)
        places.update(place for _, place in suffered.struck if place)
        wait_for_end(suffered.processes)
        if "Traceback" in suffered.errors:
            wrong.append(f"{number}: {suffered.errors[-600:]}")
        again = said(command(out, **_options(recipe)))
        verified = said([SOLILOQUY, "verify", str(out)])
        if again.returncode or verified.returncode or dataset(out) != references[recipe] or runsc_pids(tmp_path):
            wrong.append(f"{number}: {suffered.struck}; then {again.stderr[-300:]} {verified.stdout[-300:]}")
            differing.update({*names})
        print(f"{number}: {len(names)} faults, ended {suffered.ends} times", *wrong[-1:] if wrong else (), flush=True)
        shutil.rmtree(out)
    made = table("fault", "struck", "not reached", "runs with a lost, doubled or differing conversation")
    tried = dict.fromkeys(FAULTS_BY_NAME, OF_EACH) | {"SIGSTOP": STOPS, "clock": 1, "memory": int(HAS_MEMORY)}
    for name, each in tried.items():
        made.add_row(name, *map(str, (struck[name], runs * each - struck[name], differing[name])))
    Console().print(made)
    print(
        f"{struck.total()} faults in {runs} runs of {CONVERSATIONS:,} conversations, which ended {ends} times and were "
        f"run again; {', '.join(f'{name} {count}' for name, count in places.most_common())}"
    )
    assert not wrong
    assert struck.total() > runs * FAULTS_A_RUN // 3
