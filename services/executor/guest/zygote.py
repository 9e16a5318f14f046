"""The sandbox's first process: keeps a child forked in advance, hands it a job and reports how the job ended.

The zygote never parses what a child writes: it counts and caps the bytes, and the host validates them.
"""

import ctypes
import gc
import importlib
import io
import json
import mmap
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from . import forked_job, vetted_worker, wire
from .jail import Jail, limit
from .job_memory import CHUNK, JobMemory
from .values import Tagger, converters

_HOST_IN, _HOST_OUT = 0, 1
_SCRATCH = "/tmp"


@dataclass(frozen=True, kw_only=True, slots=True)
class Child:
    """A jailed process that waits for its job, with the zygote's ends of its pipes."""

    pid: int
    job: int
    stdout: int
    result: int

    def hang_up(self) -> None:
        for end in (self.stdout, self.result):
            os.close(end)


def main() -> None:
    payload = wire.read_frame(_HOST_IN)
    if payload is None:
        return
    policy: dict[str, Any] = json.loads(payload)
    for name in policy["preload"]:
        importlib.import_module(name)
    limit(**policy["zygote_limits"])
    zygote = Zygote(policy)
    _erase_environment()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=False)
    gc.collect()
    gc.freeze()
    zygote.serve()


def _erase_environment() -> None:
    """Also overwrites the block that the kernel shows to every job as /proc/1/environ."""
    block = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    entries: list[int] = []
    while address := block[len(entries)]:
        entries.append(address)
    os.environ.clear()
    for address in entries:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))


class Zygote:
    """Runs one job at a time."""

    def __init__(self, policy: dict[str, Any]) -> None:
        self._jail = Jail(**policy["jail"])
        self._job_memory = JobMemory(**policy["job_memory"])
        self._policy = policy
        self._next_uid: int = policy["first_uid"]
        self._converters = converters()
        self._null = os.open(os.devnull, os.O_WRONLY)

    def serve(self) -> None:
        child = self._fork()
        wire.write(_HOST_OUT, wire.frame(wire.READY))
        while (payload := self._job_memory.read_frame(_HOST_IN)) is not None:
            if payload == wire.VET:
                os.close(child.job)
                os.waitpid(child.pid, 0)
                child.hang_up()
                self._serve_vetted()
                return
            spent = self._run(child, payload)
            if spent:
                return
            child = self._fork()

    def _uid(self) -> int:
        self._next_uid += 1
        return self._next_uid

    def _fork(self) -> Child:
        job_r, job_w = os.pipe()
        stdout_r, stdout_w = os.pipe()
        result_r, result_w = os.pipe()
        uid = self._uid()
        pid = os.fork()
        if pid == 0:
            self._be_child(uid, (job_r, stdout_w, self._null, result_w), (job_w, stdout_r, result_r))
        for end in (job_r, stdout_w, result_w):
            os.close(end)
        return Child(pid=pid, job=job_w, stdout=stdout_r, result=result_r)

    def _be_child(self, uid: int, own: tuple[int, ...], others: tuple[int, ...]) -> NoReturn:
        try:
            _keep_only(own=own, others=others)
            forked_job.run(self._jail, uid, Tagger(**self._policy["values"], converters=self._converters))
        finally:
            os._exit(1)

    def _run(self, child: Child, payload: memoryview) -> bool:
        """Gives the job to the child and reports the outcome; returns true if the sandbox must not be used again."""
        number, wall_seconds, _, stdout_bytes = wire.JOB.unpack_from(payload)
        started = time.monotonic()
        deadline = started + wall_seconds
        wire.write(child.job, payload)
        os.close(child.job)
        end, stdout, result = self._collect(child, deadline, stdout_bytes)
        if end != wire.ENDED:
            os.kill(child.pid, signal.SIGKILL)
        status, late = _reap(child.pid, deadline)
        seconds = time.monotonic() - started
        child.hang_up()
        spent = not self._job_memory.empty(_SCRATCH, self._policy["scratch_entries"])
        _report(number, wire.TIMED_OUT if late else end, status, seconds, spent=spent, stdout=stdout, result=result)
        return spent

    def _collect(self, child: Child, deadline: float, stdout_bytes: int) -> tuple[int, memoryview, memoryview]:
        """Drains both pipes until the child closes them, its time is up or one of them exceeds its cap."""
        areas = {child.stdout: self._job_memory.stdout, child.result: self._job_memory.result}
        caps = {child.stdout: stdout_bytes, child.result: self._policy["job_memory"]["result_bytes"]}
        taken = dict.fromkeys(areas, 0)
        unfinished = set(areas)
        poll = select.poll()
        for pipe in unfinished:
            poll.register(pipe, select.POLLIN)
        # No events requested: only the hang-up of a dead host wakes the poll.
        poll.register(_HOST_IN, 0)
        end = wire.ENDED
        while unfinished and end == wire.ENDED:
            ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ready:
                end = wire.TIMED_OUT
            for pipe, _ in ready:
                if pipe == _HOST_IN:
                    os._exit(0)
                got = os.readv(pipe, [areas[pipe][taken[pipe] : taken[pipe] + CHUNK]])
                taken[pipe] += got
                if not got:
                    poll.unregister(pipe)
                    unfinished.remove(pipe)
                if taken[pipe] > caps[pipe]:
                    end = wire.FLOODED
        stdout, result = (areas[pipe][: min(taken[pipe], caps[pipe])] for pipe in areas)
        return end, stdout, result

    def _serve_vetted(self) -> None:
        """Keeps a vetted worker on the host's pipes, and reports for one that dies on a job."""
        in_hand = mmap.mmap(-1, vetted_worker.IN_HAND.size)
        while True:
            uid = self._uid()
            pid = os.fork()
            if pid == 0:
                self._be_worker(uid, in_hand)
            _, status = os.waitpid(pid, 0)
            number, started = vetted_worker.IN_HAND.unpack(in_hand)
            if number:
                timed_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
                end = wire.TIMED_OUT if timed_out else wire.DIED
                _report(number, end, status, time.monotonic() - started)
                in_hand[:] = vetted_worker.IDLE
            elif status:
                # The host is gone, or a worker failed without a job.
                return

    def _be_worker(self, uid: int, in_hand: mmap.mmap) -> NoReturn:
        try:
            _keep_only(own=(_HOST_IN, _HOST_OUT, self._null), others=())
            self._jail.enter(uid)
            vetted_worker.VettedWorker(**self._policy["worker"], values=self._policy["values"], in_hand=in_hand).serve()
        finally:
            os._exit(1)


def _keep_only(*, own: tuple[int, ...], others: tuple[int, ...]) -> None:
    """Renumbers a child's own descriptors from 0 and closes the others."""
    for target, end in enumerate(own):
        os.dup2(end, target)
    for end in {*own, *others}.difference(range(len(own))):
        os.close(end)


def _reap(pid: int, deadline: float) -> tuple[int, bool]:
    """Waits for a child, which may go on running with its pipes closed; returns whether it had to be killed."""
    late = False
    while True:
        waited, status = os.waitpid(pid, os.WNOHANG)
        if waited:
            return status, late
        if time.monotonic() > deadline and not late:
            late = True
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.0005)


def _report(
    number: int,
    end: int,
    status: int,
    seconds: float,
    *,
    spent: bool = False,
    stdout: memoryview | bytes = b"",
    result: memoryview | bytes = b"",
) -> None:
    code, killer = (os.WEXITSTATUS(status), 0) if os.WIFEXITED(status) else (0, os.WTERMSIG(status))
    header = wire.REPORT.pack(number, end, code, killer, spent, seconds, len(stdout))
    wire.write(_HOST_OUT, wire.LENGTH.pack(len(header) + len(stdout) + len(result)), header, stdout, result)
