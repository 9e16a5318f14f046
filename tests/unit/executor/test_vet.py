"""The vet accepts plain computation and nothing else."""

import ast
import builtins
import re

import pytest

from services.executor.guest.vet import MAX_NODES, VetResult, vet
from services.executor.guest.vocabulary import BUILTINS, PUBLIC


def vetted(code: str) -> VetResult:
    return vet(ast.parse(code))


ACCEPTED = {
    "nothing": "",
    "a docstring": '"""What the student asks."""',
    "numbers": "a, b, c = 1, 2.5, 3j",
    "texts, truths and None": "x = ['a', True, None]",
    "tuples on both sides": "(a, [b, c]) = (1, [2, 3])",
    "one value for many": "a = b = c = 0.0",
    "an annotated variable": "x: float = 1.0",
    "a running total": "x = 1\nx += 2; x **= 3; x //= 2",
    "items and slices": "xs = [1, 2, 3]\nxs[0] = xs[-1]\nys = xs[::2]",
    "comparisons": "x = 1 < 2 <= 3 != 4 and not (5 in [6] or 7 is None)",
    "a choice": "x = 1 if 2 > 1 else 3",
    "bits": "x = (5 & 3 | 8 ^ 1) << 2 >> 1 % ~7",
    "a module": "import math\nx = math.sin(math.pi)",
    "a module by another name": "import cmath as c\nx = c.sqrt(-1)",
    "both modules": "import math, cmath\nx = math.pi + cmath.pi",
    "a module twice": "import math\nimport math\nx = math.e",
    "a module inside a function": "def f():\n  import math\n  return math.pi\nx = f()",
    "a module's functions": "from math import sqrt, pi as half_turn\nx = sqrt(half_turn)",
    "all of a module": "from math import *\nx = sin(pi)",
    "a branch": "x = 3\nif x > 2:\n  y = 1\nelif x:\n  y = 2\nelse:\n  pass",
    "a loop": "for i, x in enumerate([1, 2]):\n  if x: continue\n  break\nelse:\n  i = 3",
    "comprehensions": "x = [i for i in range(3) if i]\ny = {i: j for i in x for j in x}\nz = {i for i in x}",
    "a generator": "x = sum(i * i for i in range(4))",
    "a walrus": "if (n := len([1, 2])) > 1: x = n",
    "a function": "def f(r: float, /, *, pi: float = 3.1) -> float:\n  'An area.'\n  return pi * r ** 2\nx = f(2)",
    "a function in a function": "def f(x):\n  def g(y): return x + y\n  return g\nz = f(1)(2)",
    "recursion": "def f(n): return 1 if n < 2 else n * f(n - 1)\nx = f(5)",
    "a lambda": "f = lambda x, y=2: x * y\nz = f(3)",
    "a sort by key": "x = sorted([3, 1], key=lambda n: -n, reverse=True)",
    "a check": "x = 1\nassert x > 0, f'{x} is not positive'",
    "formatted text": "x = 1.234\ny = f'{x:.2f} {x!r:>{8}} {x=}' + '%.1f' % x + format(x, '.3e')",
    "a print": "print('a', 1, sep=', ', end='')\nprint(1, flush=True)",
    "conversions": "x = int('3') + float('4.5')\ny = str(x) + hex(3) + bin(3) + oct(3) + chr(65)",
    "containers": "x = dict(a=1)\ny = set([1]) | frozenset([2])\nz = tuple(list(zip([1], map(abs, [2]))))",
    "a type test": "x = isinstance(3, (int, float))",
    "the first that fits": "x = next((n for n in [1, 2, 3] if n > 1), None)",
    "Greek letters": "Δθ = 3.5\nω_0 = Δθ / 2",
    "a variable that hides a vetted builtin": "sum = 0\nfor i in [1, 2]: sum += i",
}


@pytest.mark.parametrize("code", ACCEPTED.values(), ids=ACCEPTED)
def test_what_only_computes_passes(code: str) -> None:
    assert vetted(code).refused is None


REFUSED = {
    # Harmless in the fast lane, but possibly endless, or not worth a longer vet.
    "while": ("x = 1\nwhile x: x -= 1", "line 2: while"),
    "try": ("try: x = 1\nexcept Exception: pass", "line 1: try"),
    "raise": ("x = 1\nraise ValueError(x)", "line 2: raise"),
    "with": ("with print: pass", "line 1: with"),
    "a class": ("class A: pass", "line 1: classdef"),
    "del": ("x = 1\ndel x", "line 2: delete"),
    "global": ("def f():\n  global x\n  x = 1", "line 2: global"),
    "nonlocal": ("def f():\n  x = 1\n  def g():\n    nonlocal x\n    x = 2", "line 4: nonlocal"),
    "yield": ("def f():\n  yield 1", "line 2: yield"),
    "yield from": ("def f():\n  yield from [1]", "line 2: yieldfrom"),
    "match": ("match 1:\n  case int(real=x): pass", "line 1: match"),
    "an async function": ("async def f(): pass", "line 1: asyncfunctiondef"),
    "await": ("await print", "line 1: await"),
    "an async for": ("async def f(x):\n  return [i async for i in x]", "line 1: asyncfunctiondef"),
    "an async generator in a lambda": ("f = lambda x: (i async for i in x)", "line 1: async for"),
    "a matrix product": ("x = [1] @ [2]", "line 1: matmult"),
    "an ellipsis": ("x = ...", "line 1: the constant Ellipsis"),
    "bytes": ("x = str(b'a', 'rot13')", "line 1: the constant b'a'"),
    "a decorator": ("@print\ndef f(): pass", "a decorator"),
    "a star parameter": ("def f(*xs): pass", "line 1: a star parameter"),
    "a double star parameter": ("f = lambda **xs: 1", "line 1: a star parameter"),
    "star arguments": ("print(*[1, 2])", "line 1: starred"),
    "double star arguments": ("print(**{'sep': ''})", r"line 1: the keyword \*\*"),
    "a star target": ("a, *b = [1, 2]", "line 1: starred"),
    "a star in a list": ("x = [*'ab']", "line 1: starred"),
    "two stars in a dict": ("x = {**{}}", r"line 1: \*\* in a dict"),
    "a print to a file": ("print(1, file=None)", "line 1: the keyword file"),
    # Attributes.
    "a method": ("x = []\nx.append(1)", "line 2: the attribute append"),
    "an attribute of a number": ("x = (1).real", "line 1: the attribute real"),
    "an attribute of an attribute": ("import math\nx = math.pi.real", "line 2: the attribute real"),
    "an attribute of a call": ("x = dict().__class__", "line 1: the attribute __class__"),
    "a module's private attribute": ("import math\nx = math.__dict__", "line 2: the attribute __dict__"),
    "what a module does not have": ("import math\nx = math.tribonacci(3)", "line 2: the attribute tribonacci"),
    "a module that is not imported": ("x = math.pi", "line 1: the attribute pi"),
    "an attribute stored": ("import math\nmath.pi = 3", "line 2: the attribute pi"),
    "an attribute added to": ("import math\nmath.pi += 3", "line 2: the attribute pi"),
    "an attribute annotated": ("import math\nmath.pi: int = 3", "line 2: the attribute pi"),
    "an attribute as a loop's variable": ("import math\nfor math.pi in [3]: pass", "line 2: the attribute pi"),
    "an attribute as a clause's variable": ("import math\n[1 for math.pi in [3]]", "line 2: the attribute pi"),
    "an attribute deleted": ("import math\ndel math.pi", "line 2: delete"),
    "an attribute of format": ("'{0.__class__}'.format(1)", "line 1: the attribute format"),
    "an attribute in an f-string": ("f'{print.__globals__}'", "line 1: the attribute __globals__"),
    "an attribute in an f-string's format": ("f'{1:{print.__globals__}}'", "line 1: the attribute __globals__"),
    "an attribute in an annotation": ("x: print.__globals__ = 1", "line 1: the attribute __globals__"),
    "an attribute in a parameter's annotation": ("def f(x: print.__globals__): pass", "the attribute __globals__"),
    "an attribute in a result's annotation": ("def f() -> print.__globals__: pass", "the attribute __globals__"),
    "an attribute in a default": ("def f(x=print.__globals__): pass", "the attribute __globals__"),
    "an attribute in a keyword's default": ("f = lambda *, x=print.__globals__: 1", "the attribute __globals__"),
    "an attribute in a walrus": ("(x := print.__globals__)", "the attribute __globals__"),
    "an attribute in a slice": ("x = [1][print.__globals__:]", "the attribute __globals__"),
    "an attribute in a clause's condition": ("[1 for i in [1] if i.__class__]", "the attribute __class__"),
    "an attribute in a message": ("assert False, print.__globals__", "the attribute __globals__"),
    # Modules.
    "another module": ("import os", "line 1: the module os"),
    "another module by a vetted name": ("import os as math", "line 1: the module os"),
    "another module beside": ("import math, os", "line 1: the module os"),
    "a module in a module": ("import math.os", "line 1: the module math.os"),
    "another module's function": ("from os import system", "line 1: system of the module os"),
    "all of another module": ("from os import *", "line 1: all of the module os"),
    "a private part of a module": ("from math import __dict__ as d", "line 1: __dict__ of the module math"),
    "a neighbour": ("from .math import pi", "line 1: pi of the module .math"),
    "a nameless neighbour": ("from . import math", "line 1: math of the module ."),
    "the future": ("from __future__ import annotations", "line 1: annotations of the module __future__"),
    "all of a module inside a function": ("def f():\n  from math import *", "line 2: all of the module math"),
    "all of a module inside a branch": ("if 1:\n  from math import *", "line 2: all of the module math"),
    "a module as a value": ("import math\nx = [math]", "line 2: the module math as a value"),
    "a module assigned": ("import math\nx = math.pi\nmath = 3", "line 1: math as a module and as something else"),
    "a module as a parameter": ("import math\ndef f(math): return math.pi", "math as a module and as something else"),
    "a module as a lambda's parameter": ("import math\nf = lambda math: math.pi", "math as a module and"),
    "a module as a loop's variable": ("import math\nfor math in [1]: pass", "math as a module and"),
    "a module as a clause's variable": ("import math\nx = [math.pi for math in [1]]", "math as a module and"),
    "a module as a walrus' variable": ("import math\nx = [(math := 1) for i in [1]]", "math as a module and"),
    "a module as a function": ("import math\ndef math(): pass", "math as a module and"),
    "a module added to": ("import math\nmath += 1", "math as a module and"),
    "a module under another's name": ("import math\nimport cmath as math", "math as a module and"),
    "a function under a module's name": ("import math as pi\nfrom math import pi", "pi as a module and"),
    "a star under a module's name": ("import cmath as pi\nfrom math import *", "pi as a module and"),
    "a module under a builtin's name": ("import math as int", "int as a module and"),
    # Names.
    "an undefined name": ("x = y", "line 1: the name y"),
    "a private name": ("x = __builtins__", "line 1: the name __builtins__"),
    "the importer": ("x = __import__('os')", "line 1: the name __import__"),
    "the class builder": ("__build_class__(1)", "line 1: the name __build_class__"),
    "the debug flag": ("x = __debug__", "line 1: the name __debug__"),
    "the builtins assigned": ("__builtins__ = {}", "line 1: the name __builtins__"),
    "the builtins as an alias": ("import math as __builtins__", "line 1: the name __builtins__"),
    "the builtins as a function's alias": ("from math import pi as __builtins__", "line 1: the name __builtins__"),
    "the builtins as a loop's variable": ("for __builtins__ in [{}]: pass", "line 1: the name __builtins__"),
    "the builtins as a function": ("def __builtins__(): pass", "line 1: the name __builtins__"),
    "the builtins as a parameter": ("f = lambda __builtins__: 1", "line 1: the name __builtins__"),
    "the builtins as a walrus' variable": ("[(__builtins__ := {}) for i in [1]]", "line 1: the name __builtins__"),
    "the annotations": ("x: int = 1\n__annotations__['x'] = 2", "line 2: the name __annotations__"),
    "a private keyword": ("dict(__class__=1)", "line 1: the keyword __class__"),
    "a builtin assigned that is not vetted": ("x = type(1)\ntype = 2", "line 1: the name type"),
    "an exception": ("x = isinstance(1, ValueError)", "line 1: the name ValueError"),
    # Look-alikes: identifiers are compared in their NFKC form.
    "a look-alike of a private attribute": ("x = (1)._＿class__", "line 1: the attribute __class__"),
    "a look-alike of a private name": ("x = _﹍builtins__", "line 1: the name __builtins__"),
    "a look-alike of a module": ("import math\nｍath = 3", "math as a module and"),
    "a look-alike of a foreign module": ("import ｏs", "line 1: the module os"),
    "a look-alike of a private keyword": ("dict(_＿class__=1)", "line 1: the keyword __class__"),
    "a look-alike of a private parameter": ("def f(_＿builtins__): pass", "line 1: the name __builtins__"),
}


@pytest.mark.parametrize(("code", "why"), REFUSED.values(), ids=REFUSED)
def test_what_might_do_more_is_refused_with_its_line(code: str, why: str) -> None:
    assert re.search(why, vetted(code).refused or "")


@pytest.mark.parametrize(
    "name",
    [
        *("getattr", "setattr", "delattr", "hasattr", "vars", "dir", "globals", "locals", "eval", "exec", "compile"),
        *("open", "input", "breakpoint", "help", "exit", "type", "object", "super", "property", "classmethod"),
        *("staticmethod", "memoryview", "bytearray", "bytes", "iter", "hash", "id", "slice", "callable", "issubclass"),
        *("aiter", "anext", "ascii", "BaseException", "NotImplemented", "Ellipsis"),
    ],
)
def test_a_builtin_that_is_not_listed_is_refused(name: str) -> None:
    assert vetted(f"x = {name}").refused == f"line 1: the name {name} is not vetted"


def test_a_kind_of_node_that_a_later_python_invents_is_refused() -> None:
    class Teleport(ast.stmt):
        _fields = ("body", "name")

    later = Teleport(lineno=1)
    vars(later).update(body=[ast.Pass()], name="there")
    assert vet(ast.Module(body=[later], type_ignores=[])).refused == "line 1: teleport is not vetted"


def test_no_vetted_builtin_has_an_attribute_by_the_name_of_a_module_s_function() -> None:
    public = {name for module in PUBLIC.values() for name in module}
    assert {name for builtin in BUILTINS for name in dir(getattr(builtins, builtin))} & public == set()


def test_the_first_reason_in_the_text_is_the_one_told() -> None:
    assert vetted("import math\nif 1:\n  for i in [1]:\n    x.y\nwhile 1: pass\nimport os").refused == (
        "line 4: the attribute y is not vetted"
    )


def test_too_much_code_is_refused_and_its_imports_are_told() -> None:
    long = vetted("x = [" + "1," * MAX_NODES + "]\nimport numpy.linalg as la")
    assert (long.refused, long.imports) == ("more than 20000 syntax nodes", ("numpy",))


def test_deep_code_is_vetted_without_recursion() -> None:
    assert vetted("x = " + "-" * 900 + "1").refused is None
    assert vetted("x = " + "(" * 90 + "y.z" + ")" * 90).refused == "line 1: the attribute z is not vetted"


@pytest.mark.parametrize(
    ("code", "imports"),
    [
        ("x = 1", ()),
        ("import math as m, cmath", ("cmath", "math")),
        ("import numpy.linalg as la\nfrom sympy.abc import x", ("numpy", "sympy")),
        ("from os.path import *", ("os",)),
        ("from . import near", ()),
        ("try:\n  import numpy\nexcept ImportError:\n  numpy = None", ("numpy",)),
        ("class A:\n  def f(self):\n    with x:\n      import scipy", ("scipy",)),
        ("match 1:\n  case 1:\n    import statistics", ("statistics",)),
    ],
)
def test_imports_are_found_wherever_they_are(code: str, imports: tuple[str, ...]) -> None:
    assert vetted(code).imports == imports
