"""A school program is worked out without being run, and any other program has no result."""

import pytest

from soliloquy.programs.results import program_result


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("def solution():\n    eggs = 200\n    return eggs // 12", 16),
        ("def solution():\n    return 200 % 12", 8),
        ("def solution():\n    return round(100 / 7, 2)", 14.29),
        ("price = 8.5\ntotal = price * 6\nprint(total)", 51),
        ("print(f'It is {3 + 4} apples')", 7),
        ("print('sum', 3 + 4)\nprint('bye')", 7),
        ("answer = (41 + 4) / 3", 15),
        ("PI = 3\ndef area(r):\n    return PI * r ** 2\nprint(area(2))", 12),
        ("PI = 3\ndef solution():\n    return PI * 2", 6),
        ("def solution():\n    return sum(n for n in range(0, 51, 5))", 275),
        ("def solution():\n    a = 500\n    for _ in range(3):\n        a *= 1.02\n    return round(a, 2)", 530.6),
        ("import math\n\ndef solution():\n    return math.ceil(50 / 9)", 6),
        ("from math import gcd\nprint(gcd(84, 30))", 6),
        ("hours, minutes = divmod(500, 60)\nprint(minutes)", 20),
        ("scores = [64, 71, 78]\nprint(sum(scores) / len(scores))", 71),
        ("days = 35\nextra = days - 30 if days > 30 else 0", 5),
        ("n = 0\nwhile n ** 2 < 50:\n    n += 1\nprint(n)", 8),
        ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nprint(f(5))", 120),
        ("def solution():\n    return 7\n\nif __name__ == '__main__':\n    print(solution())", 7),
    ],
)
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
