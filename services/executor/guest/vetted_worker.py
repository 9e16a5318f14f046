"""The vetted worker: reads jobs from the host, vets each and runs those that pass, one at a time in one process.

The vet keeps jobs from affecting each other; gVisor and the jail contain a job if the vet fails.
"""

import ast
import gc
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
import types
from dataclasses import astuple
from typing import Any, NoReturn

from . import snippet, wire
from .values import Tagger
from .vet import VetResult, vet
from .vocabulary import builtins

_HOST_IN, _HOST_OUT = 0, 1
HOST_GONE = 3
# The current job's number and start time. The zygote, which does not see the traffic, reads them if the worker dies.
IN_HAND = struct.Struct(">Qd")
IDLE = IN_HAND.pack(0, 0.0)
_UNREADABLE = VetResult(refused="the code cannot be parsed")


class _Output:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.data = bytearray()
        self.flooded = False

    def write(self, text: str) -> None:
        self.data += text.encode("utf-8", "backslashreplace")
        if len(self.data) > self._limit:
            del self.data[self._limit :]
            self.flooded = True
            raise BufferError("more output than the job may give")


class VettedWorker:
    """Serves its number of jobs, or until one may have damaged it."""

    def __init__(self, *, jobs: int, memory_bytes: int, values: dict[str, int], in_hand: mmap.mmap) -> None:
        self._jobs = jobs
        self._memory_bytes = memory_bytes
        self._values = values
        self._in_hand = in_hand

    def serve(self) -> NoReturn:
        sound = True
        while sound and self._jobs > 0:
            payload = wire.read_frame(_HOST_IN)
            if payload is None:
                os._exit(HOST_GONE)
            sound = self._answer(payload)
            self._jobs -= 1
        os._exit(0)

    def _answer(self, payload: bytes) -> bool:
        started = time.monotonic()
        number, wall, memory, stdout = wire.JOB.unpack_from(payload)
        self._in_hand[:] = IN_HAND.pack(number, started)
        # No handler: the kernel kills the process, whatever it is doing.
        signal.setitimer(signal.ITIMER_REAL, wall)
        limited = memory < self._memory_bytes
        if limited:
            resource.setrlimit(resource.RLIMIT_AS, (memory, self._memory_bytes))
        output = _Output(stdout)
        end, result = self._outcome(json.loads(payload[wire.JOB.size :]), output)
        if limited:
            resource.setrlimit(resource.RLIMIT_AS, (self._memory_bytes, self._memory_bytes))
        payload = json.dumps(result).encode()
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._in_hand[:] = IDLE
        seconds = time.monotonic() - started
        header = wire.REPORT.pack(number, end, 0, 0, False, seconds, len(output.data))
        wire.write(_HOST_OUT, wire.frame(header + output.data + payload))
        return end in (wire.ENDED, wire.REFUSED) and result.get("status") != "memory"

    def _outcome(self, request: dict[str, Any], output: _Output) -> tuple[int, dict[str, Any]]:
        try:
            tree = ast.parse(request["code"], snippet.FILENAME)
            vetting = vet(tree)
            if vetting.refused or request["vet_only"]:
                return wire.REFUSED, _refusal(vetting)
            code = compile(tree, snippet.FILENAME, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            if request["vet_only"]:
                return wire.REFUSED, _refusal(_UNREADABLE)
            return wire.ENDED, {"status": "error", "error": snippet.describe(error), "line": snippet.line_of(error)}
        except (RecursionError, MemoryError):
            return wire.REFUSED, _refusal(_UNREADABLE)
        result = self._run(code, builtins(output.write), request["names"], vetting)
        return (wire.FLOODED if output.flooded else wire.ENDED), result

    def _run(
        self, code: types.CodeType, offered: dict[str, Any], names: list[str], vetting: VetResult
    ) -> dict[str, Any]:
        namespace = {"__name__": "__main__", "__builtins__": offered}
        sides = {side for verdict in vetting.verdicts for side in (verdict.left, verdict.right) if type(side) is str}
        tagger = Tagger(units=self._values["units"], depth=self._values["depth"])
        try:
            result = snippet.outcome(
                lambda: exec(code, namespace), namespace, names, sorted(sides.difference(names)), tagger
            )
        finally:
            namespace.clear()
            # Collect cycles in this job's own time, not in the next one's.
            gc.collect()
            sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
        return result | {"verdicts": _verdicts(vetting)}


def _refusal(vetting: VetResult) -> dict[str, Any]:
    return {"refused": vetting.refused or "", "imports": vetting.imports, "verdicts": _verdicts(vetting)}


def _verdicts(vetting: VetResult) -> list[list[Any]]:
    return [list(astuple(verdict)) for verdict in vetting.verdicts]
