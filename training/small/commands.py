"""Runs a stage of the training as a command and prints its processor time."""

import os
import subprocess
import sys
from collections.abc import Collection

_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")


def soliloquy(*arguments: str, ends: Collection[int] = (0,)) -> None:
    """Exits if the command exits with a status outside `ends`."""
    print(f"$ soliloquy {' '.join(arguments)}", flush=True)
    before = os.times()
    status = subprocess.run([*_SOLILOQUY, *arguments], check=False).returncode
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{spent:.0f} s of one processor", flush=True)
    if status not in ends:
        sys.exit(status)
