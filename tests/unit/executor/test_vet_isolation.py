"""Vetted code leaves nothing behind for the next job, and means what Python says it means."""

import pytest
from hypothesis import example, given

from tests.unit.executor.programs import PREFACE, programs
from tests.unit.executor.vetted_code import Ran, as_python_does, as_the_worker_does, refusal, world

PROBE = """import math, cmath
from math import *
xs = sorted([abs(-3), max(1, 2), round(2.567, 1), len(str(12.5)), int('7')])
x = math.sin(math.pi / 6) + cmath.sqrt(-4) + sum(xs)
print(f'{pi:.4f}', xs, x)
"""
PROBED = Ran(variables=as_python_does(PROBE).variables, stdout="3.1416 [2, 2.6, 3, 4, 7] (19.1+2j)\n", error="")

TUTORING = {
    "a projectile": """import math
v0 = 12.5  # m/s
angle = math.radians(30)
tutor_range = v0**2 * math.sin(2 * angle) / 9.8
student_range = 13.8
is_student_correct = math.isclose(tutor_range, student_range, rel_tol=0.01)
print(f"range: {tutor_range:.2f} m")""",
    "a quadratic": """import cmath
a, b, c = 1, 2, 5
d = (b ** 2) - (4 * a * c)
root_1 = (-b - cmath.sqrt(d)) / (2 * a)
root_2 = (-b + cmath.sqrt(d)) / (2 * a)
print("roots", root_1, root_2)""",
    "Snell's law": """from math import asin, sin, radians, degrees
n_1, n_2 = 1.0, 1.33
θ_1 = radians(45)
θ_2 = degrees(asin(n_1 * sin(θ_1) / n_2))
print(round(θ_2, 1))""",
    "parallel resistors": """def parallel(resistors):
    \"\"\"The equivalent resistance in ohm.\"\"\"
    total = 0
    for r in resistors:
        if r == 0:
            return 0.0
        total += 1 / r
    return 1 / total

equivalent = parallel([100, 220, 330])""",
    "compound interest": """principal, rate, years = 1000.0, 0.05, 10
balance = [principal * (1 + rate) ** year for year in range(years + 1)]
growth = balance[-1] - balance[0]
print(f"{growth:,.2f}")""",
    "primes": """def is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))

primes = [n for n in range(2, 50) if is_prime(n)]
first_above_20 = next(p for p in primes if p > 20)""",
    "a mean and its spread": """import math
data = [4.1, 5.0, 5.9, 4.6]
mean = sum(data) / len(data)
variance = sum((x - mean) ** 2 for x in data) / (len(data) - 1)
spread = math.sqrt(variance)
assert spread > 0""",
    "greatest common divisor": """def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)
divisor = gcd(1071, 462)""",
    "a matrix product by hand": """A = [[1, 2], [3, 4]]
B = [[0, 1], [1, 0]]
C = [[0, 0], [0, 0]]
for i in range(2):
    for j in range(2):
        C[i][j] = sum(A[i][k] * B[k][j] for k in range(2))""",
    "an integral by the midpoint rule": """import math
f = lambda x: math.exp(-x ** 2)
n = 200
h = 2 / n
area = h * sum(f(-1 + (i + 0.5) * h) for i in range(n))
student_area = 1.5
student_is_right = math.isclose(area, student_area, abs_tol=0.01)""",
    "units in a table": """to_metres = {"km": 1000.0, "m": 1.0, "cm": 0.01}
lengths = [(3, "km"), (250, "cm")]
total = sum(amount * to_metres[unit] for amount, unit in lengths)
if "mm" not in to_metres:
    print("no millimetres:", sorted(to_metres))""",
    "Kirchhoff by Cramer": """import math as m
a1, b1, c1 = 5.0, -2.0, 10.0
a2, b2, c2 = -2.0, 6.0, 0.0
determinant = a1 * b2 - a2 * b1
i_1, i_2 = (c1 * b2 - c2 * b1) / determinant, (a1 * c2 - a2 * c1) / determinant
power = 10.0 * i_1
larger = "i_1" if m.fabs(i_1) > m.fabs(i_2) else "i_2\"""",
    "a student's division by zero": """mass = 0
speed = (2 * 10 / mass) ** 0.5""",
}


@pytest.mark.parametrize("code", TUTORING.values(), ids=TUTORING)
def test_a_tutoring_snippet_passes_and_means_what_python_says(code: str) -> None:
    assert refusal(code) is None
    assert as_the_worker_does(code) == as_python_does(code)


# Each tried in earnest to reach something shared; what is refused and what runs into nothing are both fine.
ATTEMPTS = {
    "the class of a number, by a format": "x = '%(__class__)s' % {'a': 1}",
    "a nested format": "x = f\"{1:{'{0.__class__}'}}\"",
    "a format's specification": "x = format(1, '{0.__class__}')",
    "a codec by str": "x = str('a', 'idna')",
    "a codec by str, of a range": "x = str(range(3), 'punycode', 'strict')",
    "an alias that marks what it makes": "x = list[int]((1, 2))\ny = tuple[int]()\nz = enumerate[int]([1])",
    "an alias of a function": "x = repr(list[print])\ny = list[print]\nz = y([1])",
    "an alias as an alias' argument": "x = dict[str, list[int]]\ny = x(a=list[int]())\nfor z in list[int]: y = z",
    "an alias of a union": "x = (list[int] | None)\ny = isinstance(3, int | str)\nz = x[0]",
    "an item of a type": "int[0] = 1",
    "an item of a function": "print[0] = 1",
    "an item of a module's function": "from math import sin\nsin[0] = 1",
    "a module's function added to": "from math import sin\nsin += 1",
    "a module's function replaced": "from math import *\nsin = 3\npi = 4\ndef cos(x): return 0",
    "builtins replaced": "abs = max = len = lambda x: 0\ndef sum(x): return 0\nprint = int\nfor round in [1]: pass",
    "the importer's function": "import math as m\nfrom math import pi as sorted\nsorted = m.pi",
    "a default that grows": "def f(x, seen=[]):\n  seen += [x]\n  return seen\nx = [f(1), f(2)]",
    "a closure that counts": "def f():\n  n = [0]\n  def g():\n    n[0] += 1\n    return n[0]\n  return g\nx = f()()",
    "a generator that outlives its job": "x = (i for i in iter_me) if 0 else (n for n in range(9))\ny = next(x)",
    "a generator that refers to itself": "xs = []\ng = (xs for x in [1])\nxs += [g, next(g)]",
    "a list that holds itself": "x = []\nx += [x, x]\nprint(x)",
    "a dict that holds itself": "x = {}\nx[0] = x\nx['__builtins__'] = x\nprint(x)",
    "a function that never ends": "def f(): return f()\nf()",
    "an iterator that swallows its end": "x = list(map(lambda n: next(map(abs, [])), [1, 2]))",
    "an iterator changed under way": "x = [1, 2, 3]\nx += map(lambda n: x[:0] or n, [1])\nx[:] = (x[0] for i in x)",
    "a sort that sees its list": "x = [3, 1, 2]\ny = sorted(x, key=lambda n: len(x))",
    "a dict changed under way": "d = {1: 2}\nfor k in d: d[k + 1] = 0",
    "an annotation that runs": "x: print('once') = 1\ndef f(y: print('twice') = 2) -> print('thrice'): pass",
    "a message that is no text": "assert False, [print, (i for i in [1]), lambda: 0]",
    "a print of everything": "print(print, abs, lambda: 0, int, (1 for i in [1]), sep='\\n', end='')",
    "a print with a separator that is none": "print(1, 2, sep=3)",
    "a print with an unknown keyword": "print(1, whither=3)",
    "warnings": "x = 1 is 1\ny = '\\d'\nz = ()()",
    "a lone surrogate": "x = chr(0xd800)\nprint(x)",
    "too many digits": "x = str(10 ** 5000)",
    "digits beyond the limit": "x = int('1' * 5000)",
    "a walrus out of its comprehension": "x = [y := i for i in range(3)]\nz = y",
    "a repeat beyond all bounds": "x = 'x' * (1 << 62)",
    "a shift beyond all bounds": "x = 1 << (1 << 62)",
    "a list beyond all bounds": "x = [0] * (1 << 60)",
    "a format beyond all bounds": "x = '%99999999999999d' % 3",
    "a width beyond all bounds": "x = f'{1:99999999999999}'",
    "a return outside": "return 3",
    "a name that is a parameter twice": "def f(a, a): pass",
    "a module before its import": "x = m.pi\nimport math as m",
    "a module in another's scope": "def f():\n  import math\nf()\nx = math.pi",
    "a module's star after a variable": "pi = 3\nfrom math import *\nx = pi",
    "a star over another star": "from math import *\nfrom cmath import *\nx = sqrt(-1)",
    "the name of the module": "x = __name__",
    "the spot where annotations go": "x: int = 1\ny: 'float'\nz = y",
    "a function's frame by an error": "x = [1 / 0 for i in [1]]",
    "the look-alike of a builtin": "ａbs = 3\nx = abs",
}


@pytest.mark.parametrize("code", ATTEMPTS.values(), ids=ATTEMPTS)
def test_an_attempt_at_what_jobs_share_changes_nothing_for_the_next_job(code: str) -> None:
    before = world()
    if refusal(code) is None:
        as_the_worker_does(code)
    assert world() == before
    assert as_the_worker_does(PROBE) == PROBED


@given(program=programs())
@example(program=PREFACE + "print(math.sqrt(b) + a, xs, f'{pi!r:>8}')")
def test_whatever_passes_means_what_python_says_and_leaves_the_process_as_it_was(program: str) -> None:
    if _unreadable(program) or refusal(program) is not None:
        return
    before = world()
    ran = as_the_worker_does(program)
    assert world() == before
    assert as_the_worker_does(PROBE) == PROBED
    assert ran == as_python_does(program)


def _unreadable(program: str) -> bool:
    try:
        refusal(program)
    except SyntaxError:
        return True
    return False
