"""The stages of what a small model goes through, each a command of its own, with what it cost."""

import os
import subprocess
import sys
from collections.abc import Collection

_SOLILOQUY = (sys.executable, "-c", "from soliloquy.cli.main import main; main()")


def soliloquy(*arguments: str, ends: Collection[int] = (0,)) -> None:
    """Ends the process where the command ends otherwise."""
    print(f"$ soliloquy {' '.join(arguments)}", flush=True)
    before = os.times()
    status = subprocess.run([*_SOLILOQUY, *arguments], check=False).returncode
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{spent:.0f} s of one processor", flush=True)
    if status not in ends:
        sys.exit(status)
