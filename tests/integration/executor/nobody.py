"""Runs a command as an ordinary user, for tests that root runs."""

import os
import subprocess
import sys

import pytest

only_root_can = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user; as one, every test here is rootless"
)
# This Python, and the distribution's of the same version, which can use the same packages.
_PYTHONS = (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
_HIDE = 'mount -t tmpfs -o mode=755 none /dev/shm && exec "$0" "$@"'


def python() -> str:
    """Finds a Python that the user nobody can read, with this environment's packages; required in CI."""
    found = next(filter(_runs, _PYTHONS), None)
    if found is None and "CI" not in os.environ:
        pytest.skip("no Python with this environment's packages that nobody may read")
    assert found is not None, f"an ordinary user can run none of {', '.join(_PYTHONS)}"
    return found


def run(*command: str, shared_memory: bool = True, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs a command; without shared memory, in a mount namespace whose /dev/shm nobody can write."""
    return subprocess.run(
        # The shell between: what setpriv starts itself is still found with root's rights.
        [
            *([] if shared_memory else ["unshare", "--mount", "sh", "-c", _HIDE]),
            *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", 'exec "$0" "$@"', *command),
        ],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def _runs(python: str) -> bool:
    return run(python, "-c", "import soliloquy_services.executor.pool").returncode == 0
