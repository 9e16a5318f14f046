"""The sandbox's first process: keeps a child forked ahead, hands it a job, reports what became of it.

It never parses what a child writes: bytes are counted, capped and passed on for the host to validate.
"""

import gc
import importlib
import io
import json
import os
import select
import signal
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from . import snippet, wire
from .jail import Jail, limit

_HOST_IN, _HOST_OUT = 0, 1
_RESULT = 3
_SCRATCH = Path("/tmp")
_CHUNK = 65_536
_JOB_BYTES = 1 << 30
_OUT_OF_MEMORY = b'{"status": "memory", "error": "MemoryError", "line": 0}'


@dataclass(frozen=True, kw_only=True, slots=True)
class Child:
    """A jailed process that waits for its job, and the zygote's ends of its pipes."""

    pid: int
    job: int
    stdout: int
    result: int


def main() -> None:
    told = wire.read_frame(_HOST_IN)
    if told is None:
        return
    policy: dict[str, Any] = json.loads(told)
    for name in policy["preload"]:
        importlib.import_module(name)
    limit(**policy["zygote_limits"])
    zygote = Zygote(policy)
    os.environ.clear()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=False)
    gc.collect()
    gc.freeze()
    zygote.serve()


class Zygote:
    """Runs one job at a time."""

    def __init__(self, policy: dict[str, Any]) -> None:
        self._jail = Jail(**policy["jail"])
        self._values: dict[str, int] = policy["values"]
        self._caps: dict[str, int] = policy["caps"]
        self._wall_seconds: float = policy["wall_seconds"]
        self._scratch_entries: int = policy["scratch_entries"]
        self._next_uid: int = policy["first_uid"]
        self._null = os.open(os.devnull, os.O_WRONLY)

    def serve(self) -> None:
        child = self._fork()
        wire.write(_HOST_OUT, wire.frame(wire.READY))
        while (job := wire.read_frame(_HOST_IN)) is not None:
            spent = self._run(child, job)
            if spent:
                return
            child = self._fork()

    def _fork(self) -> Child:
        job_r, job_w = os.pipe()
        stdout_r, stdout_w = os.pipe()
        result_r, result_w = os.pipe()
        uid = self._next_uid
        self._next_uid += 1
        pid = os.fork()
        if pid == 0:
            self._be_child(uid, (job_r, stdout_w, self._null, result_w), (job_w, stdout_r, result_r))
        for end in (job_r, stdout_w, result_w):
            os.close(end)
        return Child(pid=pid, job=job_w, stdout=stdout_r, result=result_r)

    def _be_child(self, uid: int, own: tuple[int, ...], others: tuple[int, ...]) -> NoReturn:
        """Keeps four descriptors (its job, stdout, nowhere, its result), drops every right, runs its job."""
        try:
            for target, end in enumerate(own):
                os.dup2(end, target)
            for end in {*own, *others}.difference(range(len(own))):
                os.close(end)
            self._jail.enter(uid)
            job = json.loads(wire.read(0, _JOB_BYTES))
            result = snippet.run(job["code"], job["result_variables"], **self._values)
            wire.write(_RESULT, json.dumps(result).encode())
        except MemoryError:
            wire.write(_RESULT, _OUT_OF_MEMORY)
        finally:
            os._exit(0)

    def _run(self, child: Child, job: bytes) -> bool:
        """Gives the job to the child and reports; true if the sandbox must not be used again."""
        started = time.monotonic()
        deadline = started + self._wall_seconds
        wire.write(child.job, job)
        os.close(child.job)
        end, stdout, result = self._collect(child, deadline)
        if end != wire.ENDED:
            os.kill(child.pid, signal.SIGKILL)
        status, late = self._reap(child.pid, deadline)
        seconds = time.monotonic() - started
        os.close(child.stdout)
        os.close(child.result)
        spent = not self._wipe_scratch()
        code, killer = (os.WEXITSTATUS(status), 0) if os.WIFEXITED(status) else (0, os.WTERMSIG(status))
        header = wire.REPORT.pack(wire.TIMED_OUT if late else end, code, killer, spent, seconds, len(stdout))
        wire.write(_HOST_OUT, wire.frame(header + stdout + result))
        return spent

    def _collect(self, child: Child, deadline: float) -> tuple[int, bytes, bytes]:
        """Drains both pipes until the child closes them, time is up or one brings more than its cap."""
        caps = {child.stdout: self._caps["stdout"], child.result: self._caps["result"]}
        taken = {pipe: bytearray() for pipe in caps}
        unfinished = set(caps)
        poll = select.poll()
        for pipe in unfinished:
            poll.register(pipe, select.POLLIN)
        # No events: only the hang-up of a host that is gone wakes the poll.
        poll.register(_HOST_IN, 0)
        end = wire.ENDED
        while unfinished and end == wire.ENDED:
            ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ready:
                end = wire.TIMED_OUT
            for pipe, _ in ready:
                if pipe == _HOST_IN:
                    os._exit(0)
                chunk = os.read(pipe, _CHUNK)
                taken[pipe] += chunk
                if not chunk:
                    poll.unregister(pipe)
                    unfinished.remove(pipe)
                if len(taken[pipe]) > caps[pipe]:
                    end = wire.FLOODED
        stdout, result = (bytes(data[: caps[pipe]]) for pipe, data in taken.items())
        return end, stdout, result

    def _reap(self, pid: int, deadline: float) -> tuple[int, bool]:
        """Waits for a child that may have closed its pipes and gone on running; tells if it had to be killed."""
        late = False
        while True:
            waited, status = os.waitpid(pid, os.WNOHANG)
            if waited:
                return status, late
            if time.monotonic() > deadline and not late:
                late = True
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.0005)

    def _wipe_scratch(self) -> bool:
        """Leaves the next job an empty /tmp; false where that would take long."""
        entries = list(_SCRATCH.iterdir())
        if len(entries) > self._scratch_entries or any(stat.S_ISDIR(entry.lstat().st_mode) for entry in entries):
            return False
        for entry in entries:
            entry.unlink()
        return True
