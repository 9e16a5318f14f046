"""Code and names are read however they were written down."""

import pytest

from soliloquy.runtime.code import names, unfenced


@pytest.mark.parametrize(
    "fenced",
    [
        "```python\nx = 1\n```",
        "```\nx = 1\n```",
        "``python\nx = 1\n``",
        "`x = 1`",
        "`python x = 1`",
        "x = 1",
        "python\nx = 1",
        "```python\nx = 1\n```python",
        "```py\nx = 1```",
        "```Python3\nx = 1\n```",
        "```python\r\nx = 1\r\n```\r\n",
        "~~~\nx = 1\n~~~",
        "~~~~python\nx = 1\n~~~~",
        "````c++\nx = 1\n````",
        "```x = 1```",
        "```python\nx = 1",
        "x = 1\n```",
        "\n\n  ```python\nx = 1\n```  \n",
    ],
)
def test_code_is_freed_from_every_kind_of_fence(fenced: str) -> None:
    assert unfenced(fenced) == "x = 1"


def test_code_without_a_fence_keeps_its_lines() -> None:
    code = "import math\n\ndef f():\n    return '`'  # not a fence: `x`, ```y```\n\nx = f()"
    assert unfenced(code) == code


@pytest.mark.parametrize("listed", ["a, b", "a b", "['a', 'b']", "`a`, `b`", "a; b", "(a, b)", "a,\nb,"])
def test_names_come_one_by_one_however_they_are_listed(listed: str) -> None:
    assert names(listed) == ["a", "b"]
