"""Implements `make installation`: clones this checkout, sets it up, and builds and installs from the clone."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.installation.parts import PARTS, timed
from tests.node.__main__ import ANEW

_ROOT = Path(__file__).parents[2]
_SET_UP = (".venv/dev", ".venv/runsc", ".venv/chart", ".venv/kafka", ".venv/prometheus")


def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="soliloquy-installation-") as folder:
        clone = Path(folder, "soliloquy")
        os.environ[PARTS] = str(Path(folder, "parts.json"))
        with timed("clone"):
            _run("git", "clone", "--quiet", "--no-hardlinks", str(_ROOT), str(clone), within=_ROOT)
        with timed("make: what the tests of the chart run with"):
            _run("make", *_SET_UP, within=clone)
        command = [str(clone / ".venv/bin/python"), "-m", "tests.node", ANEW, "-s", "tests/installation"]
        return subprocess.run(command, cwd=clone, check=False).returncode


def _run(*words: str, within: Path) -> None:
    subprocess.run(words, cwd=within, check=True)


if __name__ == "__main__":
    sys.exit(main())
