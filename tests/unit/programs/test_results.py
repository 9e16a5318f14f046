"""A school program is worked out without being run, and any other program has no result."""

import pytest

from soliloquy.programs.results import program_result
from tests.cases import each_case


@each_case
def test_the_result_is_the_one_that_python_gives(code: str, result: float) -> None:
    assert program_result(code) == pytest.approx(result)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.system('true')",
        "print(open('/etc/passwd').read())",
        "print((1).__class__)",
        "while True:\n    pass",
        "x = 7\nwhile True:\n    x = x * x",
        "x = 'a' * 10 ** 10",
        "print(10 ** 10 ** 10)",
        "print([0] * 10 ** 10)",
        "print(max(range(10 ** 12)))",
        "import math\nprint(math.factorial(10 ** 9))",
        "for i in range(20000):\n    x = sum(range(20000))",
        "def f(n):\n    return f(n)\nprint(f(1))",
        "print(1, 2)",
        "x = 10",
        "Tip: 125 * 0.25 = 31.25",
        "print(1 / 0)",
        "print(True)",
        "def f(x): return x",
        "not Python",
        "",
        "(" * 10_000,
    ],
)
def test_any_other_program_has_no_result_and_none_takes_long(code: str) -> None:
    assert program_result(code) is None
