"""A forked child's one job: any code at all, in a process that ends with it."""

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
    """Drops every right, waits for the job and leaves its result; a closed pipe instead of a job ends it too."""
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
    told = json.loads(payload[wire.JOB.size :])
    _seed()
    # A real module, because dataclasses and typing look their globals up by module name.
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    stdout = sys.stdout

    def run() -> None:
        exec(compile(told["code"], snippet.FILENAME, "exec", dont_inherit=True), module.__dict__)

    result = snippet.outcome(run, module.__dict__, told["names"], told["evidence"], tagger)
    # The snippet may have closed it; what it wrote before is out then.
    with contextlib.suppress(ValueError, OSError):
        stdout.flush()
    return json.dumps(result).encode()


def _seed() -> None:
    """The random module reseeds itself from the kernel after a fork, and each sandbox's numpy has another seed."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
