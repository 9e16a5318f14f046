"""Writes an image's bill of materials from inside the image, as its last build step: sbom.py IMAGE."""

import json
import platform
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from urllib.parse import quote

_PACKAGES = Path("/var/lib/dpkg/status")
_SITE = "/opt/soliloquy/lib/python3.11/site-packages"
# The output of `go version -m` for the image's Go program.
_MODULES = Path("/usr/share/soliloquy/runsc.modules")
_TO = Path("/usr/share/soliloquy/sbom.cdx.json")


def main(image: str) -> None:
    components = [*_debian(), *_python(), *_go(), _component("generic", "python", platform.python_version())]
    components.sort(key=lambda component: component["purl"])
    [version] = (found.version for found in distributions(path=[_SITE], name="soliloquy-tutor"))
    _TO.parent.mkdir(parents=True, exist_ok=True)
    _TO.write_text(json.dumps(_document(image, version, components), indent=1), "utf-8")


def _document(image: str, version: str, components: list[dict[str, str]]) -> dict[str, object]:
    """Returns a CycloneDX document; the same components give the same document."""
    listed = "\n".join(component["purl"] for component in components)
    own = {"type": "container", "bom-ref": image, "name": f"soliloquy/{image}", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{image} {version}\n{listed}").urn,
        "version": 1,
        "metadata": {"component": own},
        "components": components,
    }


def _debian() -> Iterator[dict[str, str]]:
    for entry in _PACKAGES.read_text("utf-8").split("\n\n"):
        told = dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line and line[0] != " ")
        if told.get("Status", "").endswith(" installed"):
            yield _component("deb/debian", told["Package"], told["Version"], f"?arch={told['Architecture']}")


def _python() -> Iterator[dict[str, str]]:
    for found in distributions(path=[_SITE]):
        yield _component("pypi", found.name.lower().replace("_", "-"), found.version)


def _go() -> Iterator[dict[str, str]]:
    for line in _MODULES.read_text("utf-8").splitlines() if _MODULES.exists() else []:
        kind, _, told = line.strip().partition("\t")
        if kind in ("mod", "dep"):
            name, version = told.split("\t")[:2]
            yield _component("golang", name, version)


def _component(kind: str, name: str, version: str, qualifiers: str = "") -> dict[str, str]:
    purl = f"pkg:{kind}/{quote(name)}@{quote(version)}{qualifiers}"
    return {"type": "library", "bom-ref": purl, "purl": purl, "name": name, "version": version}


if __name__ == "__main__":
    main(*sys.argv[1:])
