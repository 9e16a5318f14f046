"""Implements `make images`: builds what docker-bake.json says, with docker buildx or, without it, with buildah."""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from deploy.images import bake

ROOT = Path(__file__).parents[2]
# Digests of what was pushed, as values of the chart.
VALUES = ROOT / "dist/images.json"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def main(words: list[str]) -> None:
    asked = _parser().parse_args(words)
    environment = _environment(asked.push)
    images = _chosen(bake.targets(bake.FILE.read_text("utf-8"), environment), asked)
    build = _docker if _works("docker", "buildx", "version") else _buildah
    digests = build(images, asked, environment)
    if asked.push:
        values = {
            "global": {"imageRegistry": asked.push},
            "images": {name: {"digest": digests[name]} for name in images},
        }
        VALUES.parent.mkdir(exist_ok=True)
        VALUES.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
        print(f"Install them: helm install grow deploy/helm/soliloquy --values {VALUES.relative_to(ROOT)} ..")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make images", description=__doc__)
    parser.add_argument("images", nargs="*", help="all that the platform allows, unless named")
    parser.add_argument("--push", default="", help="registry to push to: HOST, HOST:PORT or HOST/PATH")
    parser.add_argument("--platform", default="", help="such as linux/arm64; several with commas")
    parser.add_argument("--attest", action="store_true", help="push BuildKit's SBOM and provenance too (docker only)")
    parser.add_argument(
        "--authorities", default="", help="folder mounted at /etc/ssl/certs in each step (buildah only)"
    )
    return parser


def _environment(registry: str) -> dict[str, str]:
    """Takes the revision and its time from git, so that a checkout gives the same images whenever they are built."""
    told = {"REVISION": _git("rev-parse", "HEAD"), "SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct")}
    if _git("status", "--porcelain"):
        told["REVISION"] += "-changed"
    return told | os.environ | ({"REGISTRY": registry} if registry else {})


def _chosen(images: dict[str, bake.Target], asked: argparse.Namespace) -> dict[str, bake.Target]:
    if unknown := sorted(set(asked.images) - set(images)):
        raise SystemExit(f"unknown image {unknown[0]!r}: there are {', '.join(images)}")
    wanted = set(filter(None, asked.platform.split(",")))
    chosen = {}
    for name in asked.images or images:
        if missing := sorted(wanted - set(images[name].platforms)):
            told = f"{name} is not built for {missing[0]}, only for {', '.join(images[name].platforms)}"
            if asked.images:
                raise SystemExit(told)
            print(told)
        else:
            chosen[name] = images[name]
    return chosen


def _docker(
    images: dict[str, bake.Target], asked: argparse.Namespace, environment: Mapping[str, str]
) -> dict[str, str]:
    """Pushes every platform of an image; what stays on this machine is of this machine's."""
    if asked.authorities:
        raise SystemExit("--authorities requires buildah: docker's builder has certificates of its own")
    platforms = asked.platform or ("" if asked.push else _own_platform())
    kind = "registry" if asked.push else "docker"
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "metadata.json")
        command = ["docker", "buildx", "bake", f"--file={bake.FILE}", f"--metadata-file={told}"]
        command += [f"--set=*.output=type={kind},rewrite-timestamp=true"]
        command += [f"--set=*.platform={platforms}"] if platforms else []
        command += ["--sbom=true", "--provenance=mode=max"] if asked.attest else []
        subprocess.run([*command, *images], cwd=ROOT, env=environment, check=True)
        built = json.loads(told.read_text("utf-8"))
    return {name: built[name]["containerimage.digest"] for name in images}


def _buildah(
    images: dict[str, bake.Target], asked: argparse.Namespace, environment: Mapping[str, str]
) -> dict[str, str]:
    if shutil.which("buildah") is None:
        raise SystemExit("neither docker buildx nor buildah is installed: install one of them (Debian: buildah)")
    if "," in asked.platform:
        raise SystemExit("buildah builds one platform at a time: install docker buildx for several")
    if asked.attest:
        raise SystemExit("--attest requires docker buildx; each image contains its SBOM without it")
    return {name: _built(image, asked, environment["SOURCE_DATE_EPOCH"]) for name, image in images.items()}


def _built(image: bake.Target, asked: argparse.Namespace, time: str) -> str:
    [tag] = image.tags
    command = ["build", "--format=oci", f"--timestamp={time}", f"--target={image.target}", f"--tag={tag}"]
    # History and name would tell the registry of the base, perhaps a mirror inside a company.
    base = {"name": "", "digest": image.args["BASE"].rpartition("@")[2]}
    command += [f"--annotation=org.opencontainers.image.base.{key}={told}" for key, told in base.items()]
    command += ["--omit-history", "--identity-label=false"]
    command += [f"--build-arg={name}={value}" for name, value in image.args.items()]
    command += [f"--platform={asked.platform or _own_platform()}"]
    command += [f"--volume={asked.authorities}:/etc/ssl/certs:ro"] if asked.authorities else []
    command += plain(*(value for name, value in image.args.items() if name in ("BASE", "GO")))
    _run("buildah", *command, f"--file={image.dockerfile}", image.context)
    if not asked.push:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        digest = Path(folder, "digest")
        _run("buildah", "push", *plain(tag), f"--digestfile={digest}", tag, f"docker://{tag}")
        return digest.read_text("utf-8")


def plain(*references: str) -> list[str]:
    """A registry on this machine speaks HTTP, as docker and containerd assume."""
    hosts = {reference.partition("/")[0].partition(":")[0] for reference in references}
    return ["--tls-verify=false"] if hosts & {"localhost", "127.0.0.1"} else []


def _own_platform() -> str:
    return f"linux/{_MACHINES[platform.machine()]}"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _works(*words: str) -> bool:
    return (
        shutil.which(words[0]) is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0
    )


def _run(*words: str) -> None:
    subprocess.run(words, cwd=ROOT, check=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(error.cmd[:3])} failed with {error.returncode}; its message is above") from error
