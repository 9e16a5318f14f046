"""Whatever a job does, it ends as it should, and the next one is right."""

import re

import pytest
from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2 import Status

from services.executor.pool import SandboxPool
from tests.integration.executor.support import assert_ordinary_job_is_right, job, needs_runsc

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]

OK, ERROR, TIMEOUT = sandbox_pb2.STATUS_OK, sandbox_pb2.STATUS_ERROR, sandbox_pb2.STATUS_TIMEOUT
MEMORY, FLOOD = sandbox_pb2.STATUS_MEMORY, sandbox_pb2.STATUS_OUTPUT_LIMIT
EXITED, SIGNAL = sandbox_pb2.STATUS_EXITED, sandbox_pb2.STATUS_SIGNAL

_LIBC = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.{call} < 0:
    raise OSError(ctypes.get_errno(), "refused")
"""

HOSTILE = {
    "an endless loop": ("while True: pass", TIMEOUT, ""),
    "a long sleep": ("import time; time.sleep(60)", TIMEOUT, ""),
    "a loop that swallows exceptions": (
        "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
        TIMEOUT,
        "",
    ),
    "a loop that ignores signals": (
        "import signal\nfor n in (1, 2, 15, 24): signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
        TIMEOUT,
        "",
    ),
    "a power that never ends": ("x = 9 ** 9 ** 9", TIMEOUT, ""),
    "pipes closed, still running": ("import os\nos.close(1); os.close(3)\nwhile True: pass", TIMEOUT, ""),
    "one huge allocation": ("x = bytearray(10 ** 10)", MEMORY, "MemoryError"),
    "memory full of references": ("x = [[]]\nwhile True: x[0] = [x[0]] + [0] * 10 ** 8", MEMORY, "MemoryError"),
    "a fork bomb": ("import os\nwhile True: os.fork()", ERROR, "PermissionError"),
    "a thread": ("import threading; threading.Thread(target=print).start()", ERROR, "can't start new thread"),
    "a subprocess": ("import subprocess; subprocess.run(['/bin/sh'])", ERROR, "PermissionError"),
    "another program": ("import os, sys; os.execv(sys.executable, ['python'])", ERROR, "PermissionError"),
    "a flood of prints": ("while True: print('x' * 1000)", FLOOD, "more output"),
    "a flood past print": ("import os\nwhile True: os.write(1, b'x' * 1000)", FLOOD, "more output"),
    "a flood of results": ("import os\nwhile True: os.write(3, b'x' * 1000)", FLOOD, "more output"),
    "os._exit": ("import os; os._exit(7)", EXITED, "exit code 7"),
    "sys.exit": ("import sys; sys.exit(7)", EXITED, "SystemExit: 7"),
    "a segmentation fault": ("import ctypes; ctypes.string_at(0)", SIGNAL, "SIGSEGV"),
    "an abort": ("import os; os.abort()", SIGNAL, "SIGABRT"),
    "a kill of its zygote": ("import os; os.kill(1, 9)", ERROR, "PermissionError"),
    "a trace of its zygote": (_LIBC.format(call="ptrace(16, 1, 0, 0)"), ERROR, "refused"),
    "its zygote's memory": ("open('/proc/1/mem', 'r+b')", ERROR, "PermissionError"),
    "its zygote's pipes": ("open('/proc/1/fd/1', 'wb')", ERROR, "PermissionError"),
    "frames on every descriptor": (
        "import os\nfor fd in range(64):\n  try: os.write(fd, b'\\0\\0\\0\\x05ready')\n  except OSError: pass",
        ERROR,
        "no readable result",
    ),
    "a result nested without end": ("import os\nos.write(3, b'[' * 100_000); os._exit(0)", ERROR, "no readable result"),
    "an error that is no text": (
        """import os\nos.write(3, b'{"status": "error", "error": [], "line": "x"}'); os._exit(0)""",
        ERROR,
        "no readable result",
    ),
    "another encoder": ("import json; json.dumps = lambda result: '{}'", ERROR, "no readable result"),
    "the host's files": ("open('/etc/passwd')", ERROR, "FileNotFoundError"),
    "a file in the root": ("open('/file', 'w')", ERROR, "Read-only|PermissionError"),
    "its own Python": ("import math, os; open(os.__file__, 'a')", ERROR, "Read-only|PermissionError"),
    "a device": ("import os; os.mknod('/tmp/device')", ERROR, "PermissionError"),
    "shared memory": (_LIBC.format(call="memfd_create(b'x', 0)"), ERROR, "refused"),
    "a mount": (_LIBC.format(call="mount(b'none', b'/tmp', b'tmpfs', 0, 0)"), ERROR, "refused"),
    "a socket": ("import socket; socket.socket()", ERROR, "PermissionError"),
    "a name lookup": (
        "import socket; socket.create_connection(('example.org', 80))",
        ERROR,
        "gaierror|PermissionError",
    ),
    "root's uid": ("import os; os.setuid(0)", ERROR, "PermissionError"),
    "more memory than allowed": (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        ERROR,
        "not allowed to raise",
    ),
    "a sparse file": ("open('/tmp/x', 'wb').truncate(10 ** 12)", ERROR, "File too large"),
    "a full disk": (
        "for n in range(40): open(f'/tmp/{n}', 'wb').write(b'x' * 10 ** 6)",
        ERROR,
        "No space left",
    ),
    "folders without end": ("import os\nfor n in range(50): os.mkdir('d'); os.chdir('d')", OK, ""),
    "recursion": ("def f(): f()\nf()", ERROR, "RecursionError"),
    "a null byte": ("x = 1\0", ERROR, "null bytes"),
    "an error that hangs": (
        "class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E",
        TIMEOUT,
        "",
    ),
    "an error that fails": (
        "class E(Exception):\n  def __str__(self): raise E\nraise E",
        ERROR,
        "str\\(\\) failed",
    ),
}


@pytest.mark.parametrize("deed", HOSTILE)
async def test_a_hostile_job_ends_as_it_should_and_the_next_one_is_right(pool: SandboxPool, deed: str) -> None:
    code, status, error = HOSTILE[deed]
    done = await pool.execute(job(code))
    assert Status.Name(done.status) == Status.Name(status), done
    assert re.search(error, done.error)
    assert done.seconds < 1.5
    await assert_ordinary_job_is_right(pool)
