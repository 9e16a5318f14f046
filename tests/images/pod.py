"""Runs an image's command as a pod would: unprivileged, on a read-only root, under the executor's profile."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.images.built import ROOT

# A root of its own by pivot_root: in one of chroot nobody may make a user namespace, which gVisor needs. Its /proc is
# its own, masked as container runtimes mask it.
_ENTER = """
mount --bind "$1" "$1"
cd "$1"
mount --rbind /dev dev
mount -t tmpfs tmpfs tmp
mount -t proc proc proc
mount -o remount,bind,ro "$1"
for file in kcore keys latency_stats sched_debug timer_list; do
  [ ! -e "proc/$file" ] || mount --bind /dev/null "proc/$file"
done
for folder in acpi asound scsi; do
  [ ! -e "proc/$folder" ] || mount -t tmpfs -o ro tmpfs "proc/$folder"
done
for path in bus fs irq sys sysrq-trigger; do
  [ ! -e "proc/$path" ] || { mount --bind "proc/$path" "proc/$path"; mount -o remount,bind,ro "proc/$path"; }
done
pivot_root . .
umount -l .
cd /tmp
shift
exec "$@"
"""
_PROFILE = ROOT / "deploy/helm/soliloquy/files/executor/seccomp.json"
_CONFINE = Path(__file__).with_name("confine.py")
_AS_USER = ("setpriv", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image of buildah's store, with its files."""

    root: Path
    config: dict[str, Any]
    # Its manifest and whole configuration.
    told: str

    def run(self, *words: str) -> str:
        """Runs the entrypoint with other arguments."""
        user, _, group = self.config["User"].partition(":")
        confined = ["python3", "-c", _CONFINE.read_text("utf-8"), _PROFILE.read_text("utf-8")]
        pod = [*_AS_USER, f"--reuid={user}", f"--regid={group}", *confined, *self.config["Entrypoint"], *words]
        own = ["--mount", "--propagation=private", "--pid", "--fork", "--kill-child"]
        command = ["unshare", *own, "sh", "-ec", _ENTER, "sh", str(self.root), *pod]
        environment = dict(each.split("=", 1) for each in self.config["Env"])
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}: {(done.stderr or done.stdout).strip()[-2000:]}"
        return done.stdout


@contextmanager
def pulled(reference: str) -> Iterator[Image]:
    """Pulls the image into buildah's store and unpacks it."""
    _said("buildah", "pull", "--quiet", "--tls-verify=false", "--policy=always", reference)
    told = json.loads(_said("buildah", "inspect", "--type=image", reference))
    container = _said("buildah", "from", "--pull-never", reference)
    try:
        root = Path(_said("buildah", "mount", container))
        yield Image(root=root, config=told["OCIv1"]["config"], told=told["Manifest"] + told["Config"])
    finally:
        _said("buildah", "rm", container)


def _said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
