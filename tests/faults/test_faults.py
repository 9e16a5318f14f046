"""A run whose writes fail, or whose processes stop, ends with the same bytes once it is run again."""

import errno
import os
import random
import signal
import subprocess
import time
from collections import Counter
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
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EMFILE": errno.EMFILE, "ENOMEM": errno.ENOMEM, "torn": errno.EIO}
STOPPED = "SIGSTOP"
STOP_SECONDS = 2.0
# Files of a run, each with the calls that change it; later ones are never reached.
FILES = {
    ".run/log": 12 * CONVERSATIONS,
    ".run/journal": CONVERSATIONS,
    ".run/accepted": 6,
    ".run/timings": 6,
    ".manifest.json": 2,
}
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
    grown(out, conversations=CONVERSATIONS)
    return dataset(out)


def faulty_run(out: Path, fault: str, shim: Path, moments: random.Random) -> tuple[str, str, str, list[int]]:
    """Returns how the run ended, the file that the fault struck, what the run said, and its processes."""
    file, most = moments.choice(list(FILES.items()))
    # Mostly early, because few processes write much.
    at = int(moments.triangular(1, most, 1))
    environment = {
        "LD_PRELOAD": str(shim),
        "FAULT_UNDER": f"{out}/{file}",
        "FAULT_AT": str(at),
        "FAULT_ERRNO": str(ERRORS.get(fault, 0)),
        "FAULT_MARK": f"{out}.reached",
        **({"FAULT_TORN": "1"} if fault == "torn" else {}),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items() if fault != STOPPED else ():
            patch.setenv(name, value)
        with killed_at_end(command(out, conversations=CONVERSATIONS, workers=2, in_flight=16)) as process:
            wait_for_frames(out, 1, process, seconds=MOST_SECONDS)
            workers = worker_pids(process.pid) if process.poll() is None else []
            if fault == STOPPED and workers:
                wait_for_frames(out, moments.randrange(1, CONVERSATIONS), process, seconds=MOST_SECONDS)
                _stop(moments.choice([process.pid, *workers]))
            _, errors = process.communicate(timeout=MOST_SECONDS)
    mark, ended = Path(f"{out}.reached"), "survived" if process.returncode == 0 else "ended"
    place = Path(mark.read_text("utf-8")).name if mark.exists() else ""
    reached = fault == STOPPED or place
    return (ended if reached else "not reached"), place, errors, [process.pid, *workers]


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
    counted: dict[str, Counter[str]] = {name: Counter() for name in (*ERRORS, STOPPED)}
    places: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(FAULTS):
        moments, fault = random.Random(number), [*ERRORS, STOPPED][number % (len(ERRORS) + 1)]
        out = tmp_path / f"out-{number}"
        ended, place, errors, processes = faulty_run(out, fault, shim, moments)
        counted[fault][ended] += 1
        places[place] += 1
        wait_for_end(processes)
        if "Traceback" in errors:
            wrong.append(f"{number} {fault}: {errors[-600:]}")
        again = said(command(out, conversations=CONVERSATIONS))
        verified = said([SOLILOQUY, "verify", str(out)])
        if again.returncode or verified.returncode or dataset(out) != reference or runsc_pids(tmp_path):
            wrong.append(f"{number} {fault}: {ended}; then {again.stderr[-300:]} {verified.stdout[-300:]}")
            counted[fault]["wrong"] += 1
        if wrong:
            print(wrong[-1])
    made = table("fault", "survived", "ended, then resumed", "not reached", "lost, doubled or differing")
    for name, found in counted.items():
        made.add_row(name, *(str(found[kind]) for kind in ("survived", "ended", "not reached", "wrong")))
    Console().print(made)
    struck = ", ".join(f"{name or 'a process'} {count}" for name, count in places.most_common())
    print(f"{FAULTS} faults over {FAULTS * CONVERSATIONS:,} conversations: {struck}")
    assert not wrong
