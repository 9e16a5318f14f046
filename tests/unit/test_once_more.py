"""`make test` forgives a test that fails among the others and passes alone, names it, and forgives nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAKY = """
def test_flaky(pytestconfig):
    seen = pytestconfig.rootpath / "seen"
    if not seen.exists():
        seen.touch()
        raise AssertionError
"""


@pytest.mark.parametrize(
    ("broken", "status", "told"),
    [
        (0, 0, "passed alone. Mend them first:\ntest_some.py::test_flaky"),
        (1, 1, "and again alone:\ntest_some.py::test_flaky\ntest_some.py::test_broken_0"),
        (3, 1, "4 failed"),
    ],
)
def test_a_few_failures_are_tried_alone_and_named(tmp_path: Path, broken: int, status: int, told: str) -> None:
    others = "".join(f"def test_broken_{number}():\n    assert 0\n" for number in range(broken))
    (tmp_path / "test_some.py").write_text(FLAKY + others)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.once_more", "-q"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, told in ended.stdout) == (status, True), ended.stdout
    assert ("alone" in ended.stdout) is (broken < 3)
