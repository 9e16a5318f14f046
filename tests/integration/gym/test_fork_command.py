"""`soliloquy fork` continues where it was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from soliloquy.dataset.storage import Storage
from soliloquy.dataset.verify import findings
from tests.integration.executor.support import needs_runsc
from tests.integration.gym.test_same_bytes import generate
from tests.waiting import wait_until

_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")


def fork(dataset: Path, out: Path) -> tuple[str, ...]:
    options = ("--samples", "3", "--noise", "real", "--to-end", "--in-flight", "4", "--latency", "20ms", "--json")
    return (*_SOLILOQUY, "fork", str(dataset), "--out", str(out), *options)


@pytest.mark.thorough
@needs_runsc
def test_a_fork_that_was_killed_goes_on_and_yields_the_same_files(tmp_path: Path) -> None:
    dataset = tmp_path / "dataset"
    generate("soliloquy", "physics", 6, dataset)
    subprocess.run(fork(dataset, tmp_path / "whole"), check=True, timeout=120)
    killed = subprocess.Popen(fork(dataset, tmp_path / "killed"))
    wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob(".killed.forking/*")))
    killed.kill()
    killed.wait()
    assert not (tmp_path / "killed").exists()
    subprocess.run(fork(dataset, tmp_path / "killed"), check=True, timeout=120)
    for file in ("tree.jsonl", "preferences/pairs.jsonl", "preferences/labelled.jsonl"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert not list(findings(Storage(tmp_path / "killed" / "best")))
    assert not list(tmp_path.glob(".killed.*"))
