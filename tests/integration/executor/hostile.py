"""Hostile code and its expected outcome, by name."""

from dataclasses import dataclass

from soliloquy.v1.sandbox_pb2 import (
    LANE_FAST,
    LANE_FORK,
    STATUS_ERROR,
    STATUS_EXITED,
    STATUS_MEMORY,
    STATUS_OK,
    STATUS_OUTPUT_LIMIT,
    STATUS_SIGNAL,
    STATUS_TIMEOUT,
    Lane,
    Status,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Deed:
    """`told` is part of the error, or of the value of `x` if the job succeeds and names it."""

    code: str
    status: Status
    lane: Lane
    told: str = ""
    names: tuple[str, ...] = ()


def fork(code: str, status: Status, told: str = "", *names: str) -> Deed:
    return Deed(code=code, status=status, lane=LANE_FORK, told=told, names=names)


def fast(code: str, status: Status, told: str = "", *names: str) -> Deed:
    return Deed(code=code, status=status, lane=LANE_FAST, told=told, names=names)


OK, ERROR, TIMEOUT, MEMORY = STATUS_OK, STATUS_ERROR, STATUS_TIMEOUT, STATUS_MEMORY
FLOOD, EXITED, SIGNAL = STATUS_OUTPUT_LIMIT, STATUS_EXITED, STATUS_SIGNAL

_LIBC = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.{call} < 0:
    raise OSError(ctypes.get_errno(), "refused")
"""
_LATE = "no end within the time limit"
_UNREADABLE = "no readable result"

TIME = {
    "an endless loop is stopped by the wall": fork("while True: pass", TIMEOUT, _LATE),
    "a long sleep is stopped by the wall": fork("import time; time.sleep(60)", TIMEOUT, _LATE),
    "a loop that swallows exceptions is stopped by the wall": fork(
        "while True:\n  try:\n    while True: pass\n  except BaseException: pass", TIMEOUT, _LATE
    ),
    "a loop that ignores signals is stopped by the wall": fork(
        "import signal\nfor n in (1, 2, 14, 15, 24): signal.signal(n, signal.SIG_IGN)\nwhile True: pass", TIMEOUT, _LATE
    ),
    "a loop with its pipes closed is stopped by the wall": fork(
        "import os\nos.close(1); os.close(3)\nwhile True: pass", TIMEOUT, _LATE
    ),
    "a regular expression that explodes is stopped by the wall": fork(
        "import re\nre.match('(a+)+$', 'a' * 60 + 'b')", TIMEOUT, _LATE
    ),
    "an error whose text never ends is stopped by the wall": fork(
        "class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E", TIMEOUT, _LATE
    ),
    "a power that never ends is stopped by the wall": fast("x = 9 ** 9 ** 9", TIMEOUT, _LATE),
    "a sum that never ends is stopped by the wall": fast("x = sum(n % 2 for n in range(10 ** 12))", TIMEOUT, _LATE),
    "a sum in C that never ends is stopped by the wall": fast("x = sum(range(10 ** 12))", TIMEOUT, _LATE),
    "a factorial that never ends is stopped by the wall": fast(
        "import math\nx = math.factorial(10 ** 8)", TIMEOUT, _LATE
    ),
    "calls that double are stopped by the wall": fast(
        "def f(n): return f(n - 1) + f(n - 1) if n else 1\nx = f(60)", TIMEOUT, _LATE
    ),
    "a list that grows as it is read is stopped by the wall": fast("xs = [1]\nfor x in xs: xs += [x]", TIMEOUT, _LATE),
    "digits that take for ever are stopped by the wall": fast(
        "x = pow(3, 10 ** 7 + 1) % pow(10, 10 ** 7)", TIMEOUT, _LATE
    ),
}

MEMORIES = {
    "one huge allocation meets its limit": fork("x = bytearray(10 ** 10)", MEMORY, "MemoryError"),
    "memory full of references meets its limit": fork(
        "x = [[]]\nwhile True: x[0] = [x[0]] + [0] * 10 ** 8", MEMORY, "MemoryError"
    ),
    "memory that was refused can be done without": fork(
        "try: x = bytearray(10 ** 10)\nexcept MemoryError: x = 'refused'", OK, "refused", "x"
    ),
    "a huge text meets its limit": fast("x = 'x' * 10 ** 10", MEMORY, "MemoryError"),
    "a huge repeat meets its limit": fast("x = [0] * 10 ** 10", MEMORY, "MemoryError"),
    "a repeat beyond what can be addressed meets its limit": fast("x = 'x' * (1 << 62)", MEMORY, "MemoryError"),
    "a huge shift meets its limit": fast("x = 1 << 10 ** 11", MEMORY, "MemoryError"),
    "a huge list from a range meets its limit": fast("x = list(range(10 ** 9))", MEMORY, "MemoryError"),
    "a huge width in an f-string meets its limit": fast("x = f'{1:9999999999}'", MEMORY, "MemoryError"),
    "a huge width in a format meets its limit": fast("x = '%9999999999d' % 1", MEMORY, "MemoryError"),
    "a raised limit stays where it was": fork(
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", ERROR, "not allowed to raise"
    ),
}

PROCESSES = {
    "a fork bomb is refused its first fork": fork("import os\nwhile True: os.fork()", ERROR, "PermissionError"),
    "a thread is refused": fork("import threading; threading.Thread(target=print).start()", ERROR, "can't start new"),
    "a subprocess is refused": fork("import subprocess; subprocess.run(['/bin/sh'])", ERROR, "PermissionError"),
    "another program is refused": fork(
        "import os, sys; os.execv(sys.executable, ['python'])", ERROR, "PermissionError|FileNotFoundError"
    ),
    "a spawned program is refused": fork(
        "import os, sys; os.posix_spawn(sys.executable, ['python'], {})", ERROR, "PermissionError|FileNotFoundError"
    ),
    "a daemon is refused": fork("import os\nif os.fork() == 0: os.setsid()", ERROR, "PermissionError"),
    "its zygote cannot be killed": fork("import os; os.kill(1, 9)", ERROR, "PermissionError"),
    "its zygote cannot be traced": fork(_LIBC.format(call="ptrace(16, 1, 0, 0)"), ERROR, "refused"),
    "its zygote's memory is closed": fork("open('/proc/1/mem', 'r+b')", ERROR, "PermissionError"),
    "its zygote's memory is closed by a link too": fork(
        "import os\nos.symlink('/proc/1/mem', '/tmp/mem')\nopen('/tmp/mem', 'r+b')", ERROR, "PermissionError"
    ),
    "its zygote's pipes are closed": fork("open('/proc/1/fd/1', 'wb')", ERROR, "PermissionError"),
    "its zygote's environment tells nothing of the host": fork(
        "try: x = open('/proc/1/environ').read().strip('\\0')\nexcept PermissionError: x = ''\nassert x == '', x", OK
    ),
    "it has no environment": fork("import os\nx = dict(os.environ)\nassert x == {}, x", OK),
    "root's uid is out of reach": fork("import os; os.setuid(0)", ERROR, "PermissionError"),
    "another job's uid is out of reach": fork("import os; os.setuid(os.getuid() - 1)", ERROR, "PermissionError"),
    "namespaces are refused": fork(_LIBC.format(call="unshare(0x10000000)"), ERROR, "refused"),
    "a mount is refused": fork(_LIBC.format(call="mount(b'none', b'/tmp', b'tmpfs', 0, 0)"), ERROR, "refused"),
    "shared memory without a name is refused": fork(_LIBC.format(call="memfd_create(b'x', 0)"), ERROR, "refused"),
    "shared memory of old is refused": fork(_LIBC.format(call="shmget(0, 4096, 0o1600)"), ERROR, "refused"),
    "there is no /dev/shm to share": fork("open('/dev/shm/x', 'w')", ERROR, "Error: .*/dev/shm"),
    "a socket is refused": fork("import socket; socket.socket()", ERROR, "PermissionError"),
    "a name lookup is refused": fork(
        "import socket; socket.create_connection(('example.org', 80))", ERROR, "gaierror|PermissionError"
    ),
}

OUTPUTS = {
    "a flood of prints is cut": fork("while True: print('x' * 1000)", FLOOD, "more output"),
    "a flood past print is cut": fork("import os\nwhile True: os.write(1, b'x' * 1000)", FLOOD, "more output"),
    "a flood of results is cut": fork("import os\nwhile True: os.write(3, b'x' * 1000)", FLOOD, "more output"),
    "a flood of vetted prints is cut": fast("for n in range(10 ** 6): print('x' * 1000)", FLOOD, "more output"),
    "one huge print is cut": fast("print('x' * 10 ** 7)", FLOOD, "more output"),
    "a text too long to tell is told by its type": fast("x = 'x' * 10 ** 6", OK, 'unserialisable: "str"', "x"),
    "a number too long to tell is told by its type": fast("x = 1 << 10 ** 6", OK, 'unserialisable: "int"', "x"),
    "a list that doubles is told by its type": fast(
        "x = []\nfor n in range(60): x = [x, x]", OK, 'unserialisable: "list"', "x"
    ),
    "a list that holds itself is told by its type": fast("x = []\nx += [x]", OK, 'unserialisable: "list"', "x"),
    "half a character is told by its type": fast("x = chr(0xd800)\nprint(x)", OK, 'unserialisable: "str"', "x"),
    "half a character in an error is told": fast("assert False, chr(0xd800)", ERROR, r"AssertionError: \\ud800"),
    "bytes that are no text are told as far as they are": fork("import os\nos.write(1, b'\\xff\\xfe')", OK),
    "null bytes in a print are told": fast("print('\\0' * 9)\nx = 1", OK, 'integer: "1"', "x"),
}

ENDS = {
    "an exit code is told": fork("import os; os._exit(7)", EXITED, "exit code 7"),
    "an exit by exception is told": fork("import sys; sys.exit(7)", EXITED, "SystemExit: 7"),
    "a segmentation fault is told": fork("import ctypes; ctypes.string_at(0)", SIGNAL, "SIGSEGV"),
    "a vetted segmentation fault is told": fork(
        "t = ()\nfor n in range(10 ** 6): t = (t,)\nx = {t}", SIGNAL, "SIGSEGV"
    ),
    "a stack that overflows is told": fork(
        "import sys\nsys.setrecursionlimit(10 ** 9)\nx = []\nfor n in range(200_000): x = [x]\nrepr(x)",
        SIGNAL,
        "SIGSEGV",
    ),
    "an abort is told": fork("import os; os.abort()", SIGNAL, "SIGABRT"),
    "a suicide is told": fork("import os; os.kill(os.getpid(), 9)", SIGNAL, "SIGKILL"),
    "endless recursion is an error": fast("def f(): f()\nf()", ERROR, "RecursionError"),
    "a read of its input is an error": fork("input()", ERROR, "EOFError"),
}

FILES = {
    "the host's files are not there": fork("open('/etc/passwd')", ERROR, "FileNotFoundError"),
    "the root is read-only": fork("open('/file', 'w')", ERROR, "Read-only|PermissionError"),
    "its own Python is read-only": fork("import math, os; open(os.__file__, 'a')", ERROR, "Read-only|PermissionError"),
    "a device is refused": fork("import os; os.mknod('/tmp/device')", ERROR, "PermissionError"),
    "a sparse file meets its limit": fork("open('/tmp/x', 'wb').truncate(10 ** 12)", ERROR, "File too large"),
    "a full disk is an error and is emptied": fork(
        "for n in range(40): open(f'/tmp/{n}', 'wb').write(b'x' * 10 ** 6)", ERROR, "No space left"
    ),
    "folders in folders are cleared away": fork("import os\nfor n in range(50): os.mkdir('d'); os.chdir('d')", OK),
    "a thousand files are cleared away": fork("for n in range(1000): open(f'/tmp/{n}', 'w').close()", OK),
    "a file whose name is no text is cleared away": fork("open(b'/tmp/\\xff\\xfe', 'w').close()", OK),
    "too many open files are an error": fork(
        "xs = [open('/tmp/x', 'w') for n in range(100)]", ERROR, "Too many open files"
    ),
}

FORGERIES = {
    "frames on every descriptor are no result": fork(
        "import os\nfor fd in range(64):\n  try: os.write(fd, b'\\0\\0\\0\\x05ready')\n  except OSError: pass",
        ERROR,
        _UNREADABLE,
    ),
    "a result nested without end is no result": fork(
        "import os\nos.write(3, b'[' * 100_000); os._exit(0)", ERROR, _UNREADABLE
    ),
    "an error that is no text is no result": fork(
        """import os\nos.write(3, b'{"status": "error", "error": [], "line": "x"}'); os._exit(0)""", ERROR, _UNREADABLE
    ),
    "values that were not asked for are no result": fork(
        """import os\nos.write(3, b'{"status": "ok", "values": [["y", ["none"]]], "evidence": []}'); os._exit(0)""",
        ERROR,
        _UNREADABLE,
        "x",
    ),
    "an integer without digits is no result": fork(
        """import os
os.write(3, b'{"status": "ok", "values": [["x", ["integer", "0x1"]]], "evidence": []}'); os._exit(0)""",
        ERROR,
        _UNREADABLE,
        "x",
    ),
    "evidence that is no list is no result": fork(
        """import os\nos.write(3, b'{"status": "ok", "values": [], "evidence": 7}'); os._exit(0)""", ERROR, _UNREADABLE
    ),
    "another encoder makes no result": fork("import json; json.dumps = lambda result: '{}'", ERROR, _UNREADABLE),
    "a harness that is patched makes no result": fork(
        "import sys\nframe = sys._getframe()\nwhile frame:\n  frame.f_globals['json'] = None\n  frame = frame.f_back",
        EXITED,
        "no result",
    ),
    "a trace of its harness makes no result": fork(
        "import sys\nsys.settrace(lambda *_: 1 / 0)\nsys.setprofile(lambda *_: 1 / 0)", EXITED, "no result"
    ),
    "an exit that is patched away is an end": fork(
        "import os\nos._exit = lambda code: None\nx = 1", OK, 'integer: "1"', "x"
    ),
    "an object that pickles as a command is told by its type": fork(
        "import os\nclass A:\n  def __reduce__(self): return os._exit, (9,)\nx = A()", OK, 'unserialisable: "A"', "x"
    ),
    "an object whose repr never ends is told by its type": fork(
        "class A:\n  def __repr__(self):\n    while True: pass\nx = [A(), {1: A()}]", OK, 'unserialisable: "A"', "x"
    ),
    "an object equal to everything is told by its type": fork(
        "class A:\n  __hash__ = lambda self: 1\n  def __eq__(self, other): raise SystemExit\nx = {A(): A()}",
        OK,
        'unserialisable: "A"',
        "x",
    ),
    "a number that lies about itself is told by its type": fork(
        "class A(float):\n  __float__ = __repr__ = lambda self: 7\nx = A(1)", OK, 'unserialisable: "A"', "x"
    ),
    "a text that lies about itself is told by its type": fork(
        "class A(str):\n  def encode(self, *_): raise SystemExit\nx = A('x')", OK, 'unserialisable: "A"', "x"
    ),
    "a type whose name runs code is told by its name": fork(
        "class M(type):\n  __name__ = property(lambda self: 1 / 0)\nclass A(metaclass=M): pass\nx = A()",
        OK,
        'unserialisable: "A"',
        "x",
    ),
    "a name that equals none is not the variable": fork(
        "class K(str):\n  __hash__ = str.__hash__\n  def __eq__(self, other): raise SystemExit\nglobals()[K('x')] = 1",
        ERROR,
        "result variable 'x' is not defined",
        "x",
    ),
    "an error that fails to speak is told": fork(
        "class E(Exception):\n  def __str__(self): raise E\nraise E", ERROR, "str\\(\\) failed"
    ),
    "a verdict against its own numbers is an error": fork(
        "import math\nmath.isclose = lambda *a, **k: True\na, b = 1.0, 2.0\nx = math.isclose(a, b)",
        ERROR,
        r"x is True, but math.isclose\(1.0, 2.0",
        "x",
    ),
    "what is left for the exit never runs": fork(
        "import atexit, os\natexit.register(os._exit, 9)\nclass A:\n  def __del__(self): os._exit(9)\na = A()\nx = 1",
        OK,
        'integer: "1"',
        "x",
    ),
}

HOSTILE = TIME | MEMORIES | PROCESSES | OUTPUTS | ENDS | FILES | FORGERIES
