"""Kafka's jars: fetched once by Maven, kept outside the tree, shared by every checkout with the same pom."""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

POM = Path(__file__).with_name("pom.xml")
_OLDEST_JAVA = 17
_FETCH_SECONDS = 600.0


class KafkaUnavailable(Exception):
    """No broker can be started on this machine."""


@functools.cache
def java() -> str:
    path = shutil.which("java")
    if path is None:
        raise KafkaUnavailable(f"java is missing: install Java {_OLDEST_JAVA} or later, or set KAFKA_BOOTSTRAP")
    said = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        first = (said.splitlines() or ["nothing"])[0]
        raise KafkaUnavailable(f"{path} is not Java {_OLDEST_JAVA} or later: it says {first!r}")
    return path


def class_path() -> str:
    """Of several processes that need the jars at once, one fetches them and the others wait."""
    folder = _cache() / f"kafka-{hashlib.sha256(POM.read_bytes()).hexdigest()[:16]}"
    if (failure := _fetch_failure(folder)) is not None:
        raise KafkaUnavailable(failure)
    return f"{folder}/*"


@functools.cache
def _fetch_failure(folder: Path) -> str | None:
    """Remembered, so that of many tests only the first waits for a registry that cannot be reached."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                return _fetch(folder)
    return None


def _fetch(folder: Path) -> str | None:
    """The folder appears whole, or not at all; returns why not."""
    mvn = shutil.which("mvn")
    if mvn is None:
        return "mvn is missing: install Maven, which fetches Kafka, or set KAFKA_BOOTSTRAP"
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    command = [mvn, "--batch-mode", "--quiet", "--file", str(POM), *copy]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        return f"mvn did not fetch Kafka within {_FETCH_SECONDS:g} s"
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()[:500]
        return f"mvn could not fetch Kafka: {said or f'it ended with {done.returncode}'}"
    partial.rename(folder)
    return None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "soliloquy"


if __name__ == "__main__":
    try:
        class_path()
    except KafkaUnavailable as error:
        raise SystemExit(f"no Kafka: {error}") from error
