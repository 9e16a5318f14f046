"""Implements `make chart-node`: fetches and builds what a node needs, and runs the tests in isolated namespaces."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.chart import tools
from tests.cluster import binaries
from tests.installation import parts
from tests.kafka import jars
from tests.node import images
from tests.node.node import STATE

_ENTER = Path(__file__).with_name("enter.sh")
_TESTS = Path(__file__).parent
# Debian packages, each with its program: containerd with its plugins, and what packets are filtered with.
_PACKAGES = ("containerd", "runc", "iptables", "conntrack", "ipset")
_PLUGINS = Path("/usr/lib/cni")
# As the first argument: builds the images also where they are kept.
ANEW = "--anew"


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _install()
    tools.folder()
    binaries.kubernetes()
    binaries.coredns()
    binaries.kube_router()
    jars.class_path()
    anew = arguments[:1] == [ANEW]
    with parts.timed("images: bases, workers, executor; pushed") if anew else contextlib.nullcontext():
        images.build(anew=anew)
    arguments = arguments[anew:]
    with tempfile.TemporaryDirectory(prefix="soliloquy-node-") as state:
        tests = [sys.executable, "-m", "pytest", *(arguments or ["-s", str(_TESTS)])]
        try:
            command = ["sh", str(_ENTER), state, *tests]
            return subprocess.run(command, env=os.environ | {STATE: state}, check=False).returncode
        finally:
            _remove_groups(Path(state).name)


def _install() -> None:
    missing = [package for package in _PACKAGES if shutil.which(package) is None]
    if not _PLUGINS.exists():
        missing.append("containernetworking-plugins")
    if missing:
        subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", *missing], check=True)


def _remove_groups(name: str) -> None:
    """Removes the control groups of killed containers once their last process is gone."""
    for folder in Path("/sys/fs/cgroup").glob(f"*/**/{name}"):
        for inner, _, _ in os.walk(folder, topdown=False):
            while Path(inner, "cgroup.procs").read_text("utf-8"):
                time.sleep(0.05)
            Path(inner).rmdir()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
