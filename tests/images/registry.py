"""Runs Debian's docker-registry on loopback over a folder that is kept."""

import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import cache

# The chart's images are named with it, so it is the same on this machine and on the node of tests/node.
HOST = "127.0.0.1:5197"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_STARTS_WITHIN_SECONDS = 30.0


def folder() -> Path:
    return cache.home() / "registry"


def clear() -> None:
    """Empties the kept folder, also while it is served."""
    shutil.rmtree(folder() / "docker", ignore_errors=True)


@contextmanager
def serving(kept: Path | None = None) -> Iterator[str]:
    """Yields HOST:PORT once the registry answers."""
    assert not _is_up(), f"another registry answers at {HOST}: wait for the other build"
    kept = kept or folder()
    kept.mkdir(parents=True, exist_ok=True)
    settings = {"version": 0.1, "storage": {"filesystem": {"rootdirectory": str(kept)}}, "http": {"addr": HOST}}
    with tempfile.TemporaryDirectory() as place:
        file, log = Path(place, "registry.json"), Path(place, "log")
        file.write_text(json.dumps(settings), "utf-8")
        command = ["docker-registry", "serve", str(file)]
        with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
            try:
                _answers(process, log)
                yield HOST
            finally:
                process.terminate()


def manifest(repository: str, digest: str) -> bytes:
    asked = urllib.request.Request(f"{_manifests(repository)}/{digest}", headers={"Accept": _MANIFEST})
    with urllib.request.urlopen(asked) as told:
        return bytes(told.read())


def tag(repository: str, digest: str, name: str) -> None:
    """Names a manifest that the registry has."""
    data = manifest(repository, digest)
    sent = urllib.request.Request(f"{_manifests(repository)}/{name}", data, {"Content-Type": _MANIFEST}, method="PUT")
    urllib.request.urlopen(sent).close()


def _manifests(repository: str) -> str:
    return f"http://{HOST}/v2/{repository}/manifests"


def _answers(process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + _STARTS_WITHIN_SECONDS
    while not _is_up():
        assert process.poll() is None, f"docker-registry ended: {log.read_text('utf-8')[-500:]}"
        assert time.monotonic() < ends, f"no registry at {HOST} after {_STARTS_WITHIN_SECONDS:g} s"
        time.sleep(0.1)


def _is_up() -> bool:
    try:
        urllib.request.urlopen(f"http://{HOST}/v2/", timeout=1).close()
    except urllib.error.URLError:
        return False
    return True
