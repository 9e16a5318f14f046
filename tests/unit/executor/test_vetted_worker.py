"""The vetted worker as a process between two pipes: when it continues, and when it exits."""

import json
import mmap
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import soliloquy_services.executor
from soliloquy_services.executor.guest import vetted_worker, wire

_HOME = Path(soliloquy_services.executor.__file__).parent
_WORKER = """
import mmap, resource, sys
sys.path.append(sys.argv[1])
from guest.vetted_worker import VettedWorker
resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))
with open(sys.argv[2], "r+b") as file:
    in_hand = mmap.mmap(file.fileno(), 16)
    VettedWorker(jobs=int(sys.argv[3]), memory_bytes=2**29, values={"units": 1000, "depth": 4}, in_hand=in_hand).serve()
"""


class VettedWorker:
    def __init__(self, folder: Path, jobs: int) -> None:
        self._hand = folder / "in-hand"
        self._hand.write_bytes(vetted_worker.IDLE)
        command = [sys.executable, "-c", _WORKER, str(_HOME), str(self._hand), str(jobs)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 0

    def send(self, code: str, *names: str, wall: float = 5.0, vet_only: bool = False) -> None:
        self._number += 1
        told = json.dumps({"code": code, "names": names, "vet_only": vet_only}).encode()
        assert self.process.stdin
        self.process.stdin.write(wire.frame(wire.JOB.pack(self._number, wall, 2**29, 1000) + told))
        self.process.stdin.flush()

    def ask(self, code: str, *names: str, vet_only: bool = False) -> tuple[int, dict[str, Any]]:
        self.send(code, *names, vet_only=vet_only)
        assert self.process.stdout
        report = wire.read_frame(self.process.stdout.fileno())
        assert report is not None
        number, end, *_, size = wire.REPORT.unpack_from(report)
        assert number == self._number
        return end, json.loads(report[wire.REPORT.size + size :])

    def in_hand(self) -> int:
        with self._hand.open("r+b") as file, mmap.mmap(file.fileno(), 16) as shared:
            return int(vetted_worker.IN_HAND.unpack(shared[:])[0])

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[VettedWorker]:
    worker = VettedWorker(tmp_path, jobs=3)
    yield worker
    worker.close()


def test_it_ends_after_its_number_of_jobs(worker: VettedWorker) -> None:
    for n in range(3):
        assert worker.ask(f"x = {n}", "x")[1]["values"] == [["x", ["integer", str(n)]]]
    assert worker.process.wait(60) == 0
    assert worker.in_hand() == 0


def test_it_ends_when_the_host_is_gone(worker: VettedWorker) -> None:
    worker.close()
    assert worker.process.returncode == vetted_worker.HOST_GONE


def test_the_kernel_ends_it_at_the_wall_and_the_job_it_had_is_known(worker: VettedWorker) -> None:
    worker.send("x = 1")
    worker.send("x = sum(1 for n in range(10 ** 12))", wall=0.1)
    assert worker.process.wait(60) == -signal.SIGALRM
    assert worker.in_hand() == 2


def test_it_ends_by_itself_after_a_job_that_filled_its_memory(worker: VettedWorker) -> None:
    _, result = worker.ask("x = [0] * 10 ** 9", "x")
    assert result == {"status": "memory", "error": "MemoryError", "line": 1, "verdicts": []}
    assert worker.process.wait(60) == 0


def test_an_error_leaves_it_ready_for_the_next_job(worker: VettedWorker) -> None:
    assert worker.ask("y = 1 / 0", "y")[1]["status"] == "error"
    assert worker.ask("def f(n): return f(n)\nf(1)")[1]["error"].startswith("RecursionError")
    assert worker.ask("x = 2", "x")[1]["values"] == [["x", ["integer", "2"]]]


def test_nothing_that_it_does_not_vet_is_run(worker: VettedWorker, tmp_path: Path) -> None:
    end, told = worker.ask(f"open({str(tmp_path / 'file')!r}, 'w')\nimport numpy.linalg, os")
    assert end == wire.REFUSED
    assert told["imports"] == ["numpy", "os"]
    assert not (tmp_path / "file").exists()


def test_a_look_does_not_run_even_what_is_vetted(worker: VettedWorker) -> None:
    code = "import math\na = 1.0\nx = 1 / 0\nok = math.isclose(a, 2.5, rel_tol=0.01)"
    end, told = worker.ask(code, vet_only=True)
    assert (end, told["refused"]) == (wire.REFUSED, "")
    assert told["verdicts"] == [["ok", "a", 2.5, 0.01, 0.0]]
    assert worker.ask("x = (", vet_only=True)[0] == wire.REFUSED


def test_long_integers_are_told_in_full_and_the_limit_is_back_for_the_next_job(worker: VettedWorker) -> None:
    assert worker.ask("x = 10 ** 900", "x")[1]["values"][0][1] == ["integer", "1" + "0" * 900]
    assert worker.ask("x = len(str(10 ** 5000))", "x")[1]["error"].startswith("ValueError: Exceeds the limit")


def test_code_too_deep_to_parse_is_refused(worker: VettedWorker) -> None:
    end, told = worker.ask("x = " + "(" * 150 + "1" + ")" * 150 + "\ny = " + "-" * 20_000 + "1")
    assert end == wire.REFUSED
    assert told["refused"] == "the code cannot be parsed"
