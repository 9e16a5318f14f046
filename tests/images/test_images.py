"""Checks images that were built, pushed and pulled back by digest."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.images import built, registry
from tests.images.pod import Image, pulled

pytestmark = pytest.mark.timeout(3600)
COMPILERS = ("gcc", "cc", "g++", "go", "ld", "as", "make")
PROOFS = {
    "workers": (["--version"], ["problems", "list"], ["asyncapi"]),
    "executor": (["--version"], ["sandbox", "selftest"]),
}
BILL = "usr/share/soliloquy/sbom.cdx.json"
PROGRAMS = ("opt/soliloquy/bin", "usr/local/bin", "usr/local/go/bin", "usr/bin", "usr/sbin")
SETTINGS = ("etc/pip.conf", "etc/hostname", "etc/resolv.conf", "opt/soliloquy/pip.conf", "root/.config", "root/.cache")
OWN_AUTHORITIES = Path("/usr/local/share/ca-certificates")


@pytest.fixture(scope="session")
def images(digests: dict[str, str]) -> Iterator[dict[str, Image]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(pulled(f"{registry.HOST}/soliloquy/{name}@{digest}"))
            for name, digest in digests.items()
        }


@pytest.mark.parametrize(("name", "words"), [(name, words) for name, each in PROOFS.items() for words in each])
def test_an_image_works_as_an_unprivileged_user_on_a_read_only_root(
    images: dict[str, Image], name: str, words: list[str]
) -> None:
    assert images[name].run(*words)


@pytest.mark.parametrize("name", built.NAMES)
def test_an_image_holds_no_compiler(images: dict[str, Image], name: str) -> None:
    places = [images[name].root / folder / tool for folder in PROGRAMS for tool in COMPILERS]
    assert not [place for place in places if place.exists()]


@pytest.mark.parametrize("name", built.NAMES)
def test_an_image_says_what_it_is_and_what_is_in_it(images: dict[str, Image], name: str) -> None:
    image = images[name]
    labels = {label.removeprefix("org.opencontainers.image."): told for label, told in image.config["Labels"].items()}
    assert len(labels["revision"]) >= 40
    bill = json.loads((image.root / BILL).read_text("utf-8"))
    assert bill["metadata"]["component"]["version"] == labels["version"] == image.run("--version").strip()
    listed = {component["purl"].partition("@")[0] for component in bill["components"]}
    site = image.root / "opt/soliloquy/lib/python3.11/site-packages"
    packages = {folder.name.split("-")[0].lower().replace("_", "-") for folder in site.glob("*.dist-info")}
    assert {f"pkg:pypi/{package}" for package in packages} <= {purl.replace("_", "-") for purl in listed}
    debian = {file.stem.partition(":")[0] for file in (image.root / "var/lib/dpkg/info").glob("*.list")}
    assert {f"pkg:deb/debian/{package}" for package in debian} <= {purl.replace("%2B", "+") for purl in listed}
    assert ("pkg:golang/gvisor.dev/gvisor" in listed) == (name == "executor")


@pytest.mark.parametrize("name", built.NAMES)
def test_an_image_tells_nothing_of_the_machine_that_built_it(images: dict[str, Image], name: str) -> None:
    """Neither the way to an index, nor a certificate authority in between, nor the folder of the checkout."""
    image = images[name]
    words = [registry.HOST, str(built.ROOT)]
    words += [file.read_text("utf-8").splitlines()[1] for file in OWN_AUTHORITIES.glob("*.crt")]
    look = ["grep", "--recursive", "--files-with-matches", "--fixed-strings", *(f"--regexp={word}" for word in words)]
    assert subprocess.run([*look, str(image.root)], capture_output=True, text=True, check=False).stdout == ""
    assert not [word for word in words if word in image.told]
    assert not [file for file in SETTINGS if (image.root / file).exists() and (image.root / file).stat().st_size]
    used = [file for file in (image.root / "etc/apt").rglob("*sources*") if file.is_file()]
    assert domains(*used) == domains(image.root / "usr/share/doc/apt/examples/sources.list")


def domains(*files: Path) -> set[str]:
    """Returns where packages come from; the distribution's own example names no mirror."""
    hosts = re.findall(r"https?://([^/ ]+)", "".join(file.read_text("utf-8") for file in files))
    return {".".join(host.split(".")[-2:]) for host in hosts}


def test_the_same_sources_give_the_same_images(digests: dict[str, str]) -> None:
    assert built.again() == digests
