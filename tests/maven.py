"""Fetches jars with Maven."""

import shutil
import subprocess
from pathlib import Path

_FETCH_SECONDS = 600.0


def jars(pom: Path, folder: Path) -> str | None:
    """Copies what a POM needs at run time into a folder; returns why it cannot."""
    what = pom.parent.name
    mvn = shutil.which("mvn")
    if mvn is None:
        return f"mvn is missing: install Maven, which fetches what {pom} names"
    copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    command = [mvn, "--batch-mode", "--quiet", "--file", str(pom), *copy]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        return f"mvn did not fetch {what} within {_FETCH_SECONDS:g} s"
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()[:500]
        return f"mvn could not fetch {what}: {said or f'it ended with {done.returncode}'}"
    return None
