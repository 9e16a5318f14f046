"""An episode through a library of others has the prompts, and earns the reward, that it has without it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from soliloquy.gym.rewards import WEIGHTS

ROOT = Path(__file__).parents[3]
_RUN = "import runpy, sys; sys.path.append(sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1), run_name='__main__')"
# The environments of verifiers with OpenEnv, and of Inspect.
GYM, TOOLS = ".venv-gym", ".venv-tools"


def told(environment: str, program: str, *arguments: str | Path) -> Any:
    """Returns what a program says that runs with the libraries of an environment behind its own."""
    python = ROOT / environment / "bin" / "python"
    if not python.exists() and os.environ.get("CI") != "true":
        pytest.skip(f"make {environment}/installed")
    [libraries] = python.parents[1].glob("lib/python*/site-packages")
    command = [sys.executable, "-c", _RUN, libraries, f"tests.integration.gym.adapters.{program}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.thorough
def test_a_trace_of_verifiers_has_each_component_with_its_weight() -> None:
    found = told(GYM, "by_verifiers")
    values, total = found["mirror"]
    assert found["ok"]
    assert found["rewards"] == {name: value * WEIGHTS[name] for name, value in values.items()}
    assert found["total"] == total > 0.9
    assert found["calls"] > 3
    assert found["evidence"] == sorted(values)


@pytest.mark.thorough
def test_a_client_of_openenv_gets_prompts_and_at_the_end_the_reward() -> None:
    found = told(GYM, "by_openenv")
    assert [found["rewards"], found["total"]] == found["mirror"]
    assert found["calls"] > 3
    assert json.loads(found["schema"])["title"] == "Decision"
    assert found["again"] == "tutor"


@pytest.mark.thorough
def test_inspect_scores_each_component_and_their_sum(tmp_path: Path) -> None:
    found = told(TOOLS, "by_inspect", tmp_path)
    assert [found["rewards"], found["total"]] == found["mirror"]
    assert found["means"] == {**found["rewards"], "total": found["total"]}
    assert found["calls"] > 3
