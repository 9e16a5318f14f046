"""`make check` passes in a clone that has run nothing else, with no more than it installs by itself."""

import os
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_new_clone_passes_make_check_with_what_that_installs(tmp_path: Path) -> None:
    clone = tmp_path / "soliloquy"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(_ROOT), str(clone)], check=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "CI")}
    checked = subprocess.run(["make", "check"], cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout[-4000:] + checked.stderr[-4000:]
    assert not (clone / ".venv/serve").exists()
