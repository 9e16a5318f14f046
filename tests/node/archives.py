"""Packs the result of the build steps as archives for containerd: the base first, each image's own files on top."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.images.dockerfile import Stage, command, line, variables

_LAYER = "application/vnd.oci.image.layer.v1.tar"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
# Packages beyond Debian's essential ones: those of its base image (apt) and of the Python image.
_PACKAGES = ("apt", "ca-certificates", "netbase", "tzdata")
# Parts of Python that the base image omits, and files that are not part of Python.
_LEFT_OUT = ("site-packages", "test", "tkinter", "idlelib", "_tkinter.*", "config-*")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A folder in the Open Container Initiative's image layout; images can be added."""

    folder: Path
    images: list[dict[str, Any]] = field(default_factory=list)

    def layer(self, *what: str, stdin: str | None = None) -> dict[str, Any]:
        """Packs the listed files with tar."""
        packed = self._blobs / "packed"
        packed.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "--create", f"--file={packed}", *what], input=stdin, text=True, check=True)
        with packed.open("rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
        size = packed.stat().st_size
        packed.rename(self._blobs / digest)
        return {"mediaType": _LAYER, "digest": f"sha256:{digest}", "size": size}

    def image(self, name: str, layers: list[dict[str, Any]], config: dict[str, Any]) -> None:
        root = {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]}
        told = self._blob({"architecture": "amd64", "os": "linux", "config": config, "rootfs": root}, _CONFIG)
        manifest = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": told, "layers": layers}
        named = {"annotations": {"io.containerd.image.name": f"docker.io/{name}"}}
        self.images.append(self._blob(manifest, _MANIFEST) | named)

    def pack(self, archive: Path) -> None:
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}', "utf-8")
        index = {"schemaVersion": 2, "manifests": self.images}
        (self.folder / "index.json").write_text(json.dumps(index), "utf-8")
        subprocess.run(["tar", "--create", f"--file={archive}", f"--directory={self.folder}", "."], check=True)
        shutil.rmtree(self.folder)

    @property
    def _blobs(self) -> Path:
        return self.folder / "blobs/sha256"

    def _blob(self, told: dict[str, Any], kind: str) -> dict[str, Any]:
        data = json.dumps(told).encode()
        digest = hashlib.sha256(data).hexdigest()
        (self._blobs / digest).write_bytes(data)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}


def base(layout: Layout) -> dict[str, Any]:
    """Lists this machine's counterpart of python:3.11-slim-bookworm; the roots of the build steps lie on top."""
    left_out = [f"--exclude={sys.base_prefix[1:]}/**/{name}" for name in _LEFT_OUT]
    python = [f"{sys.base_prefix[1:]}/{part}" for part in ("bin", "lib")]
    names = "\n".join([*sorted(_files()), "etc/ssl", "etc/ld.so.cache"])
    listed = ["--directory=/", "--no-recursion", "--files-from=-", "--recursion", *left_out, *python]
    return layout.layer(*listed, stdin=names)


def config(stages: dict[str, Stage], name: str) -> dict[str, Any]:
    """Returns the container's configuration: command, user, folder and environment."""
    environment = {"PATH": f"{sys.base_prefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    told: dict[str, Any] = {"Entrypoint": command(stages, name)}
    for stage in line(stages, name):
        for step in stage.steps:
            if step.instruction == "ENV":
                for variable, value in variables(step).items():
                    environment[variable] = value.replace("${PATH}", environment["PATH"])
            elif step.instruction == "CMD":
                told["Cmd"] = json.loads(step.told)
            elif step.instruction in ("USER", "WORKDIR"):
                told["User" if step.instruction == "USER" else "WorkingDir"] = step.told
    return told | {"Env": [f"{variable}={value}" for variable, value in environment.items()]}


def _files() -> set[str]:
    """Returns the path relative to the root; /lib and the like are links into /usr."""
    listed = _said("dpkg-query", "--listfiles", *_packages()).splitlines()
    files = {Path(name) for name in (*listed, *_libraries()) if name.startswith("/") and name != "/."}
    there = [file for file in files if file.exists() or file.is_symlink()]
    return {str((file.parent.resolve() / file.name).relative_to("/")) for file in there}


def _packages() -> set[str]:
    kinds = _said("dpkg-query", "--show", "--showformat=${Essential} ${Package}\n").splitlines()
    installed = {name: essential == "yes" for essential, _, name in (kind.partition(" ") for kind in kinds)}
    asked = ["apt-cache", "depends", "--recurse", "--installed", "--important", "--no-suggests"]
    closed = _said(*asked, *_PACKAGES, *(name for name, essential in installed.items() if essential))
    return installed.keys() & set(closed.splitlines())


def _libraries() -> Iterator[str]:
    """Returns the libraries that Python is linked with, and the targets of their links."""
    modules = (Path(sys.base_prefix) / "lib").glob("python3.*/lib-dynload/*.so")
    programs = [sys.executable, *(str(module) for module in modules if not module.name.startswith("_tkinter"))]
    for row in _said("ldd", *programs).splitlines():
        if " => /lib/" in row:
            library = row.split(" => ")[1].split()[0]
            yield from (library, str(Path(library).resolve()))


def _said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout
