"""Images of the last release: today's, with its code in place of today's."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tests.images import built, registry

VERSION = "0.2.0"
# The commit of that release in this repository.
COMMIT = "198ec53c4a2fe4a902573dc60f69a75fdd82e091"
_PACKAGES = "opt/soliloquy/lib/python3.11/site-packages"


def push() -> None:
    """Puts its images beside today's, which are already in the registry."""
    with tempfile.TemporaryDirectory() as place:
        wheel = _wheel(Path(place))
        for name, digest in built.known().items():
            container = _said("buildah", "from", "--tls-verify=false", f"{registry.HOST}/soliloquy/{name}@{digest}")
            packages = Path(_said("buildah", "mount", container), _PACKAGES)
            _replace(packages, wheel)
            image = f"localhost/released/{name}"
            _said("buildah", "commit", "--quiet", "--rm", container, image)
            _said("buildah", "push", "--tls-verify=false", image, f"docker://{_repository(name)}:{VERSION}")
            _said("buildah", "rmi", image)


def settings() -> list[str]:
    """Returns the settings of its chart that name them."""
    repositories = [f"images.{name}.repository={_repository(name)}" for name in built.NAMES]
    return [*repositories, *(f"images.{name}.tag={VERSION}" for name in built.NAMES)]


def _repository(name: str) -> str:
    return f"{registry.HOST}/released/{name}"


def _wheel(place: Path) -> Path:
    sources = place / "sources"
    sources.mkdir()
    archive = place / "sources.tar"
    _said("git", "-C", str(built.ROOT), "archive", f"--output={archive}", COMMIT)
    shutil.unpack_archive(archive, sources, filter="data")
    flags = ["--quiet", "--no-deps", "--no-build-isolation", f"--wheel-dir={place}"]
    _said(sys.executable, "-m", "pip", "wheel", *flags, str(sources))
    [wheel] = place.glob("*.whl")
    return wheel


def _replace(packages: Path, wheel: Path) -> None:
    [today] = packages.glob("soliloquy[-_]*.dist-info")
    names = {line.partition("/")[0] for line in (today / "RECORD").read_text("utf-8").splitlines()}
    for name in names - {".."}:
        shutil.rmtree(packages / name)
    with zipfile.ZipFile(wheel) as released:
        released.extractall(packages)


def _said(*words: str) -> str:
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
