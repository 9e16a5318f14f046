"""Runs pytest. Where only a few tests failed, these run once more, alone, and are named whatever comes of it."""

import json
import subprocess
import sys
from pathlib import Path

# More than these are a fault of the change, not a machine's bad moment.
FEW = 3
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    pytest = [sys.executable, "-m", "pytest", *arguments]
    status = subprocess.call([*pytest, "--cache-clear"])
    failed = json.loads(FAILED.read_text()) if FAILED.exists() else {}
    if status != 1 or not 0 < len(failed) <= FEW:
        return status
    status = subprocess.call([*pytest, "-n", "0", "--last-failed", "--last-failed-no-failures", "none"])
    print("\nFailed among the others" + (", and again alone:" if status else ", and passed alone. Mend them first:"))
    print("\n".join(failed), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
