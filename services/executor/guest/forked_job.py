"""Runs the one job of a forked child: any code at all, in a process that ends with it."""

import contextlib
import json
import os
import random
import resource
import sys
import types
from typing import NoReturn

from . import snippet, wire
from .jail import Jail
from .values import Tagger

_JOB, _RESULT = 0, 3
_JOB_BYTES = 1 << 30
_OUT_OF_MEMORY = b'{"status": "memory", "error": "MemoryError", "line": 0}'


def run(jail: Jail, uid: int, tagger: Tagger) -> NoReturn:
    """Drops all privileges, waits for the job and writes its result; exits if the pipe closes without a job."""
    try:
        jail.enter(uid)
        jail.limit_cpu()
        if payload := wire.read(_JOB, _JOB_BYTES):
            wire.write(_RESULT, _result(payload, tagger))
    except MemoryError:
        wire.write(_RESULT, _OUT_OF_MEMORY)
    finally:
        os._exit(0)


def _result(payload: bytes, tagger: Tagger) -> bytes:
    _, _, memory, _ = wire.JOB.unpack_from(payload)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    request = json.loads(payload[wire.JOB.size :])
    _seed()
    # A real module, because dataclasses and typing look up globals by module name.
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    stdout = sys.stdout

    def run() -> None:
        exec(compile(request["code"], snippet.FILENAME, "exec", dont_inherit=True), module.__dict__)

    result = snippet.outcome(run, module.__dict__, request["names"], request["evidence"], tagger)
    # If the snippet has closed it, its output is already flushed.
    with contextlib.suppress(ValueError, OSError):
        stdout.flush()
    return json.dumps(result).encode()


def _seed() -> None:
    """Random reseeds itself from the kernel after a fork, and numpy's seed differs between sandboxes."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
