"""Runs a Dockerfile's steps with the machine's own root as the base image and each stage's changes on top."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import cache
from tests.images.dockerfile import Stage, copied, line, variables

ROOT = Path(__file__).parents[2]
# A root of its own by pivot_root: in one of chroot nobody may make a user namespace, which gVisor needs. One that is
# sealed has a /proc of its own, masked as container runtimes mask it.
_ENTER = """
mount -t overlay overlay -o "lowerdir=/,upperdir=$UPPER,workdir=$WORK" "$MERGED"
mount --rbind /dev "$MERGED/dev"
mount -t tmpfs tmpfs "$MERGED/tmp"
proc="$MERGED/proc"
if [ -z "$SEALED" ]; then
  mount --rbind /proc "$proc"
  mount --bind "$KEPT" "$MERGED$KEPT"
else
  mount -o remount,ro "$MERGED"
  mount -t proc proc "$proc"
  for file in kcore keys latency_stats sched_debug timer_list; do
    [ ! -e "$proc/$file" ] || mount --bind /dev/null "$proc/$file"
  done
  for folder in acpi asound scsi; do
    [ ! -e "$proc/$folder" ] || mount -t tmpfs -o ro tmpfs "$proc/$folder"
  done
  for path in bus fs irq sys sysrq-trigger; do
    [ ! -e "$proc/$path" ] || { mount --bind "$proc/$path" "$proc/$path"; mount -o remount,bind,ro "$proc/$path"; }
  done
fi
cd "$MERGED"
pivot_root . .
umount -l .
cd "$FOLDER"
exec "$@"
"""
_PROFILE = ROOT / "deploy/helm/soliloquy/files/executor/seccomp.json"
_CONFINE = Path(__file__).with_name("confine.py")
# Go's downloads and build cache: four minutes of CPU.
_KEPT = cache.place("runsc", ROOT / "deploy/images/runsc/go.mod")
# The environment of a restricted pod.
_AS_USER = ("setpriv", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")


class BuildFailed(Exception):
    """A step failed."""


@dataclass(frozen=True, kw_only=True)
class Builder:
    stages: dict[str, Stage]
    folder: Path

    def build(self, name: str) -> None:
        """Builds the stage after all stages that it builds on or copies from."""
        for stage in line(self.stages, name):
            if self.root(stage.name).exists():
                continue
            for step in stage.steps:
                if step.instruction == "COPY" and (source := copied(step)[0]):
                    self.build(source)
            self._lay_out(stage)
            workdir = Path("/")
            for step in stage.steps:
                if step.instruction == "WORKDIR":
                    workdir = Path(step.told)
                    self._inside(stage.name, workdir).mkdir(parents=True, exist_ok=True)
                elif step.instruction == "COPY":
                    self._copy(stage.name, *copied(step), workdir)
                elif step.instruction == "RUN":
                    self._enter(stage.name, ["sh", "-ec", step.told], workdir=workdir)

    def run(self, name: str, words: list[str]) -> str:
        """Runs a command like the executor's pod: unprivileged, with the profile, a read-only root, an empty /tmp."""
        user, _, group = (self.stages[name].last("USER") or "").partition(":")
        confined = ["python3", "-c", _CONFINE.read_text("utf-8"), _PROFILE.read_text("utf-8")]
        pod = [*_AS_USER, f"--reuid={user}", f"--regid={group}", *confined]
        return self._enter(name, words, workdir=Path("/tmp"), pod=pod)

    def root(self, name: str) -> Path:
        """Returns the layers that the stage, with all that it builds on, adds to the base."""
        return self.folder / name / "upper"

    def size(self, name: str) -> int:
        """Returns the bytes that the stage, with all that it builds on, adds to the base."""
        files = (file for file in self.root(name).rglob("*") if file.is_file() and not file.is_symlink())
        return sum(file.stat().st_size for file in files)

    def _lay_out(self, stage: Stage) -> None:
        for kind in ("upper", "work", "merged"):
            (self.folder / stage.name / kind).mkdir(parents=True)
        if stage.base in self.stages:
            # overlayfs refuses a layer inside another layer's folder, and everything is inside the root.
            subprocess.run(["cp", "-a", f"{self.root(stage.base)}/.", self.root(stage.name)], check=True)
            return
        # In a base image every user may read Python, and no user has an account.
        for parent in Path(sys.base_prefix).parents:
            self._inside(stage.name, parent).mkdir(mode=0o755, exist_ok=True, parents=True)
        etc = self._inside(stage.name, Path("/etc"))
        etc.mkdir(mode=0o755)
        own = {user.pw_name for user in pwd.getpwall() if 1000 <= user.pw_uid < 65534}
        for file in ("passwd", "group", "shadow", "gshadow"):
            kept = [
                line for line in Path("/etc", file).read_text("utf-8").splitlines(True) if line.split(":")[0] not in own
            ]
            (etc / file).write_text("".join(kept), "utf-8")

    def _copy(self, name: str, source: str, what: list[str], target: str, workdir: Path) -> None:
        place = self._inside(name, workdir / target)
        for each in what:
            origin = self._inside(source, Path(each)) if source else ROOT / each
            if not origin.exists():
                raise BuildFailed(f"{name}: COPY finds no {each} in {source or 'the checkout'}")
            if origin.is_dir():
                ignored = None if source else _IGNORED
                shutil.copytree(origin, place, symlinks=True, dirs_exist_ok=True, ignore=ignored)
            else:
                into = place / origin.name if target.endswith("/") else place
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin, into)

    def _enter(self, name: str, words: list[str], *, workdir: Path, pod: Sequence[str] = ()) -> str:
        environment = os.environ | {
            "PATH": f"{sys.base_prefix}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"
        }
        for stage in line(self.stages, name):
            for step in stage.steps:
                if step.instruction == "ENV":
                    for variable, value in variables(step).items():
                        environment[variable] = value.replace("${PATH}", environment["PATH"])
        for variable in ("PYTHONPATH", "VIRTUAL_ENV"):
            environment.pop(variable, None)
        environment |= {
            "UPPER": str(self.root(name)),
            "WORK": str(self.folder / name / "work"),
            "MERGED": str(self.folder / name / "merged"),
            "FOLDER": str(workdir),
            "SEALED": "yes" if pod else "",
            "HOME": "/tmp",
            "KEPT": str(_KEPT),
            "GOCACHE": str(_KEPT / "build"),
            "GOMODCACHE": str(_KEPT / "mod"),
            # This machine's access to Go modules.
            "GOENV": str(Path.home() / ".config/go/env"),
        }
        _KEPT.mkdir(parents=True, exist_ok=True)
        own = ["--mount", "--propagation=private", *(["--pid", "--fork", "--kill-child"] if pod else [])]
        command = ["unshare", *own, "sh", "-ec", _ENTER, "sh", *pod, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildFailed(f"{name}: {' '.join(words)}: {(done.stderr or done.stdout).strip()[-2000:]}")
        return done.stdout

    def _inside(self, name: str, path: Path) -> Path:
        return self.root(name) / path.relative_to("/")


# Files of the checkout that .dockerignore admits.
_IGNORED = shutil.ignore_patterns("__pycache__", "*_pb2*.py", "*_pb2*.pyi")
