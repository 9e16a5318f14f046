"""Things that one job leaves behind, and that another must not find."""

from dataclasses import dataclass

from soliloquy.v1.sandbox_pb2 import LANE_FAST, LANE_FORK, Lane


@dataclass(frozen=True, kw_only=True, slots=True)
class Legacy:
    """A job, and another that looks for its traces: `x` is the same whether or not the first job ran."""

    left: str
    asked: str
    lanes: tuple[Lane, Lane]
    names: tuple[str, ...] = ()


def _forks(left: str, asked: str, *names: str) -> Legacy:
    return Legacy(left=left, asked=asked, lanes=(LANE_FORK, LANE_FORK), names=names)


def _from_fork(left: str, asked: str) -> Legacy:
    return Legacy(left=left, asked=asked, lanes=(LANE_FORK, LANE_FAST))


def _fasts(left: str, asked: str) -> Legacy:
    return Legacy(left=left, asked=asked, lanes=(LANE_FAST, LANE_FAST))


_USE_ALL = """import math, cmath
x = [abs(-3), len('four'), round(2.7), sorted([2, 1]), sum([1, 2]), math.pi, math.sqrt(4), str(cmath.sqrt(-1))]
"""
# Only Python's next collection of cycles clears this.
_HEAVY_RUBBISH = "xs = ['x' * (3 * 10 ** 8)]\nxs += [xs]"
# Looks through its own memory, which its zygote's was before, for what follows a word; its own pattern has no such.
_REMEMBER = """import ctypes, re
found = set()
for line in open('/proc/self/maps'):
    span, rights, *_ = line.split()
    low, high = (int(end, 16) for end in span.split('-'))
    if rights.startswith('rw') and high - low < 10 ** 8:
        found |= set(re.findall(rb'kumquat-(\\w+)', ctypes.string_at(low, high - low)))
x = sorted(map(str, found))
"""

LEGACIES = {
    "a file in tmp is gone": _forks(
        "open('/tmp/secret', 'w').write('7')", "import os\nx = [os.listdir('/tmp'), os.listdir('.')]"
    ),
    "a hidden file in tmp is gone": _forks("open('/tmp/.secret', 'w').close()", "import os\nx = os.listdir('/tmp')"),
    "the environment is forgotten": _forks(
        "import os\nos.environ['SECRET'] = '7'\nos.putenv('SECRET', '7')",
        "import os\nx = sorted(os.environ) + [os.getenv('SECRET')]",
    ),
    "globals are forgotten": _forks("secret = 7\nglobals()['other'] = 8", "x = sorted(globals())"),
    "vetted globals are forgotten": Legacy(
        left="secret = 7\ndef f(): return secret", asked="x = sorted(globals())", lanes=(LANE_FAST, LANE_FORK)
    ),
    "vetted names shadow only their own": _fasts(
        "def abs(x): return 0\nlen = round = sorted = sum = abs\nfrom math import *\npi = sqrt = 3", _USE_ALL
    ),
    "vetted defaults grow only their own": _fasts("def f(xs=[]):\n  xs += [7]\n  return xs\nf()", _USE_ALL),
    "math patched is whole again": _from_fork("import math\nmath.pi = 3\nmath.sqrt = lambda x: 0", _USE_ALL),
    "math patched is whole again for forks": _forks("import math\nmath.pi = 3", "import os\n" + _USE_ALL),
    "builtins patched are whole again": _from_fork(
        "import builtins\nbuiltins.abs = builtins.len = builtins.sum = lambda *_: 0", _USE_ALL
    ),
    "builtins patched are whole again for forks": _forks(
        "import builtins\nbuiltins.abs = builtins.sum = lambda *_: 0", "import os\n" + _USE_ALL
    ),
    "decimal's context is whole again": _forks(
        "import decimal\ndecimal.getcontext().prec = 2\ndecimal.setcontext(decimal.Context(prec=1))",
        "import decimal\nx = [str(decimal.Decimal(1) / 3), decimal.getcontext().prec]",
    ),
    "random starts where it always starts": _forks(
        "import random\nrandom.seed(7)\nrandom.random = lambda: 0.5", "import random\nx = random.random()"
    ),
    "a module poisoned is whole again": _forks(
        "import sys, types\nsys.modules['statistics'] = types.ModuleType('statistics')\nsys.path.clear()",
        "import statistics\nx = statistics.mean([1, 2])",
    ),
    "warnings turned to errors are warnings again": _forks(
        "import warnings\nwarnings.simplefilter('error')", "import warnings\nwarnings.warn('harmless')\nx = 1"
    ),
    "the recursion limit is whole again": _from_fork(
        "import sys\nsys.setrecursionlimit(60)", "def f(n): return f(n - 1) if n else 1\nx = f(500)"
    ),
    "the limit of digits is whole again": _fasts(
        "x = 10 ** 5000", "x = len(str(10 ** 4000))\nassert x == 4001\nx = [x]"
    ),
    "the working folder is where it was": _forks("import os\nos.chdir('/')", "import os\nx = os.getcwd()"),
    "open files are closed": _forks(
        "x = [open('/tmp/x', 'w') for n in range(20)]", "import os\nx = len(os.listdir('/proc/self/fd'))"
    ),
    "signals are as they were": _forks(
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.setitimer(signal.ITIMER_REAL, 0.2)",
        "import signal\nx = str(signal.getsignal(signal.SIGTERM))",
    ),
    "memory full of vetted rubbish is freed": _fasts(_HEAVY_RUBBISH, "x = len('y' * (3 * 10 ** 8))"),
    "its code is not in the memory of the next": _forks("import os\nx = 'kumquat-marmalade'", _REMEMBER),
    "its output is not in the memory of the next": _forks("import os\nprint('kum' + 'quat-' + 'jam')", _REMEMBER),
    "its result is not in the memory of the next": _forks("import os\nx = 'kum' + 'quat-' + 'jelly'", _REMEMBER, "x"),
    "vetted floods of print leave nothing to print": _fasts("print('x' * 60_000)", "print('y')\nx = 1"),
}
