"""The vet finds the verdicts that the host can recompute, and skips all others."""

import ast
import math

import pytest

from soliloquy_services.executor.guest.verdicts import Verdict
from soliloquy_services.executor.guest.vet import vet
from tests.cases import each_case


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
