"""Puts the chart's images and Kubernetes' pause program into the registry from which the node pulls."""

import json
import subprocess
import tempfile
from pathlib import Path

from tests.cluster import binaries
from tests.images import built, registry
from tests.node import released_images

PAUSE = f"{registry.HOST}/pause:1"


def build(*, anew: bool = False) -> None:
    """Builds what is not kept, or all of it `anew` and nothing of the last release."""
    built.install()
    with registry.serving():
        built.build(anew=anew)
        _push_pause()
        if not anew:
            released_images.push()


def digests() -> dict[str, str]:
    """Returns the digest of each image that build() has pushed."""
    return built.known()


def _push_pause() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "pause")
        command = ["gcc", "-Os", "-static", "-DVERSION=1", "-o", str(program), str(_source())]
        subprocess.run(command, check=True)
        container = _said("buildah", "from", "scratch")
        _said("buildah", "add", "--quiet", container, str(program), "/pause")
        _said("buildah", "config", '--entrypoint=["/pause"]', container)
        _said("buildah", "commit", "--quiet", "--timestamp=0", "--rm", container, "localhost/pause")
    _said("buildah", "push", "--tls-verify=false", "localhost/pause", f"docker://{PAUSE}")


def _source() -> Path:
    asked = ["go", "mod", "download", "-json", "k8s.io/kubernetes"]
    module = Path(binaries.__file__).parent
    found = subprocess.run(asked, cwd=module, capture_output=True, text=True, check=True).stdout
    return Path(json.loads(found)["Dir"], "build/pause/linux/pause.c")


def _said(*words: str) -> str:
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
