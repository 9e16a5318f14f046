"""The vet accepts plain computation and nothing else."""

import ast
import builtins
import cmath
import math
import re
from types import ModuleType

import pytest

from soliloquy_services.executor.guest.verdicts import Verdict
from soliloquy_services.executor.guest.vet import MAX_NODES, VetResult, vet
from soliloquy_services.executor.guest.vocabulary import BUILTINS, PUBLIC
from soliloquy_services.executor.guest.vocabulary import builtins as given
from tests.cases import each_case
from tests.unit.executor.vetted_code import as_python_does, as_the_worker_does


def vetted(code: str) -> VetResult:
    return vet(ast.parse(code))


@each_case
def test_what_only_computes_passes(code: str) -> None:
    assert vetted(code).refused is None


@each_case
def test_what_might_do_more_is_refused_with_its_line(code: str, why: str) -> None:
    assert re.search(why, vetted(code).refused or "")


@each_case
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


@each_case
def test_imports_are_found_wherever_they_are(code: str, imports: list[str]) -> None:
    assert list(vetted(code).imports) == imports


def found(code: str) -> tuple[Verdict, ...]:
    return vet(ast.parse(code)).verdicts


def verdict(left: str | float, right: str | float, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Verdict:
    return Verdict(name="ok", left=left, right=right, rel_tol=rel_tol, abs_tol=abs_tol)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import math\na = b = 1\nok = math.isclose(a, b)", verdict("a", "b")),
        ("import math as m\na = 1\nok = m.isclose(a, 2.5, rel_tol=0.01)", verdict("a", 2.5, rel_tol=0.01)),
        ("from math import isclose\na = 1\nok = isclose(-3, a, abs_tol=1)", verdict(-3, "a", abs_tol=1)),
        ("from math import isclose as near\nok = near(+1.5, 2, rel_tol=0, abs_tol=0)", verdict(1.5, 2, rel_tol=0)),
        ("from math import *\na = 1\nok = isclose(a, pi)", verdict("a", "pi")),
        ("import math\nfor a in [1, 2]:\n  b = a\nok = math.isclose(a, b)", verdict("a", "b")),
        ("import math\nif 1: a = 2\nelse: a = 3\nok = math.isclose(a, 2)", verdict("a", 2)),
        ("import math\ndef f(a):\n  b = a\n  return b\na = f(1)\nok = math.isclose(a, 1)", verdict("a", 1)),
        ("import math\na = 1\na += 1\nok = math.isclose(a, 2)\nprint(a, ok)", verdict("a", 2)),
        ("import math, numpy as np\na = np.sum([1])\nok = math.isclose(a, 1)", verdict("a", 1)),
        ("import math\ntry: a = 1\nexcept TypeError: a = 2\nok = math.isclose(a, 1)", verdict("a", 1)),
        ("import math\nclass A:\n  x = 1\na = A.x\nok = math.isclose(a, 1)", verdict("a", 1)),
    ],
)
def test_a_verdict_on_what_still_holds_at_the_end_is_found(code: str, expected: Verdict) -> None:
    assert found(code) == (expected,)


@each_case
def test_what_might_not_hold_at_the_end_or_is_no_such_verdict_is_left_alone(code: str) -> None:
    assert found(code) == ()


def test_every_verdict_is_found_in_order_even_in_code_that_is_refused() -> None:
    code = "import math, os\na = 1\nfirst = math.isclose(a, 1)\nb = 2\nsecond = math.isclose(b, 1, rel_tol=0.5)"
    assert [v.name for v in found(code)] == ["first", "second"]


def test_an_integer_stays_exact_and_an_infinity_infinite() -> None:
    (found_verdict,) = found(f"import math\nok = math.isclose({2**60 + 1}, 1e999)")
    assert (found_verdict.left, found_verdict.right) == (2**60 + 1, math.inf)


def test_thousands_of_verdicts_on_one_variable_take_no_longer_than_their_number() -> None:
    code = "import math\n" + "a = 1\n" * 9_000 + "".join(f"v{n} = math.isclose(a, 1)\n" for n in range(1_000))
    assert len(found(code)) == 1_000


def test_every_job_gets_the_listed_builtins_and_no_other() -> None:
    offered = given(print)
    assert offered.keys() == BUILTINS | {"__import__"}
    assert all(offered[name] is getattr(builtins, name) for name in BUILTINS - {"print"})


@pytest.mark.parametrize("module", [math, cmath])
def test_a_module_is_the_job_s_own_copy_of_what_is_public(module: ModuleType) -> None:
    bring = given(print)["__import__"]
    assert callable(bring)
    name = module.__name__
    copy = bring(name, {}, {}, ("pi",), 0)
    assert copy is not module
    assert copy is not bring(name)
    public = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    assert {key: value for key, value in vars(copy).items() if not key.startswith("__")} == public


@pytest.mark.parametrize("name", ["os", "sys", "builtins", "math.os", "", "__main__"])
def test_the_importer_gives_nothing_else_whatever_is_asked(name: str) -> None:
    bring = given(print)["__import__"]
    assert callable(bring)
    with pytest.raises(ImportError, match="is not vetted"):
        bring(name)


@each_case
def test_print_prints_what_python_s_prints(code: str) -> None:
    assert as_the_worker_does(code) == as_python_does(code)
