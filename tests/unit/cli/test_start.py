"""What a command loads before it does anything."""

import subprocess
import sys

import pytest

SLOW = ("aiohttp", "aiokafka", "faststream", "uvicorn", "numpy", "pyarrow", "pint", "sympy")


@pytest.mark.parametrize("module", ["main", "generate", "dead_letters", "runs", "sandbox", "worker"])
def test_a_start_does_not_wait_for_libraries_that_only_kafka_or_a_snippet_needs(module: str) -> None:
    code = f"import sys, services.cli.{module}; print([name for name in {SLOW} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_every_command_of_the_list_is_there() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from services.cli.main import main; main()"],
        capture_output=True,
        text=True,
        check=False,
    )
    listed = ran.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed if line.strip()] == [
        "generate",
        "show",
        "report",
        "check",
        "verify",
        "export",
        "import",
        "tail",
        "problems",
        "freeze",
        "train",
        "retrain",
        "evaluate",
        "adapters",
        "runs",
        "dlq",
        "topics",
        "service",
        "up",
        "top",
        "observe",
        "asyncapi",
        "sandbox",
        "model",
        "bench",
    ]
