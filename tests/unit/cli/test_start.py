"""Checks what a command loads before it does anything."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from benchmarks.__main__ import benchmarks
from soliloquy.cli.evaluate import evaluate
from soliloquy.cli.lazy import LazyGroup
from soliloquy.cli.main import commands
from soliloquy.cli.model import model
from soliloquy.cli.problems import problems
from soliloquy.truth.patterns import lazy_pattern

SLOW = ("aiohttp", "aiokafka", "faststream", "uvicorn", "numpy", "pyarrow", "sympy")


def printed(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", f"import sys; {code}"], capture_output=True, text=True, check=True
    ).stdout


def listed(commands: click.Group, by: type[click.Group]) -> str:
    with click.Context(commands) as context:
        formatter = context.make_formatter()
        by.format_commands(commands, context, formatter)
    return formatter.getvalue()


def test_a_start_does_not_wait_for_libraries_that_only_kafka_or_a_snippet_needs() -> None:
    modules = [f"soliloquy.cli.{name}" for name in ("main", "generate", "dead_letters", "runs", "sandbox")] + [
        "soliloquy.runs.worker"
    ]
    assert printed(f"import {', '.join(modules)}; print([name for name in {SLOW} if name in sys.modules])") == "[]\n"


def cpu_seconds(code: str) -> float:
    """Returns the lesser CPU time of two processes, with that of their children."""
    spent = "import atexit, os; atexit.register(lambda: print('\\n', sum(os.times()[:4])))"
    return min(float(printed(f"{spent}; {code}").split()[-1]) for _ in range(2))


# A shell's user waits for both: 0.1 and 1.4 s, a third of it gVisor's, on a machine whose Python starts with these
# libraries in 0.05 s.
@pytest.mark.parametrize(
    ("arguments", "starts"),
    [(["--help"], 3), (["generate", "--quiet", "--problems", "physics", "--conversations", "1"], 40)],
)
def test_a_command_costs_few_starts_of_python(arguments: list[str], starts: float, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)] if len(arguments) > 1 else []
    clear = f"import shutil; shutil.rmtree({str(tmp_path)!r}, ignore_errors=True)"
    command = f"{clear}; from soliloquy.cli.main import main; sys.argv[1:] = {[*arguments, *out]}; main()"
    assert cpu_seconds(command) < starts * cpu_seconds("import asyncio, click")


def test_conversions_to_arrow_load_pandas_only_for_who_asks_for_it() -> None:
    code = "from soliloquy.dataset import rows; print(rows.pa.array([1]).to_pylist(), 'pandas' in sys.modules)"
    assert printed(f"{code}; print(list(rows.pa.table({{'of': [1]}}).to_pandas()))") == "[1] False\n['of']\n"


def test_a_pattern_is_compiled_when_it_is_first_used() -> None:
    lazy = lazy_pattern("A+", re.IGNORECASE)
    assert "search" not in vars(lazy)
    assert [lazy.search(text) is not None for text in ("baa", "b")] == [True, False]
    assert lazy.flags & re.IGNORECASE
    with pytest.raises(re.error):
        lazy_pattern("(").search("")


def test_a_list_of_commands_loads_none_of_them() -> None:
    *_, loaded = printed(
        "from soliloquy.cli.main import commands; commands(['-h'], standalone_mode=False)"
        "; print(*(name for name in sys.modules if name.startswith(('soliloquy.cli.', 'soliloquy.runs.'))))"
    ).splitlines()
    assert set(loaded.split()) == {f"soliloquy.cli.{name}" for name in ("command", "lazy", "main", "terminal")}


@pytest.mark.parametrize("group", [problems, evaluate, model, benchmarks], ids=lambda group: group.name)
def test_a_list_says_of_a_command_what_it_says_of_itself(group: LazyGroup) -> None:
    assert listed(group, LazyGroup) == listed(group, click.Group)


def test_the_whole_list_says_of_each_command_what_it_says_of_itself_by_what_a_person_wants() -> None:
    sections, flat = listed(commands, LazyGroup), listed(commands, click.Group)
    said = [line.split() for line in sections.splitlines() if line.startswith("  ")]
    assert sorted(said) == sorted(line.split() for line in flat.splitlines() if line.startswith("  "))
    assert next(line for line in sections.splitlines() if line[:1].isalpha()) == "Begin:"
