"""Shares a broker and the runs that many end-to-end tests begin with."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.runs import grown, kill_run, paced, start, wait_for_end, wait_for_frames
from tests.objects.fixtures import bucket as bucket
from tests.objects.fixtures import object_store as object_store


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Returns a folder that the first of the test processes makes for all of them."""
    base = factory.getbasetemp()
    out = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with out.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            making = out.with_suffix(".making")
            make(making)
            making.rename(out)
    return out


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of eight, for whoever does not change it."""
    return made_once(tmp_path_factory, "reference", lambda out: grown(out, conversations=8))


@pytest.fixture(scope="session")
def killed_at_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(out: Path) -> None:
        process = start(paced(out))
        wait_for_frames(out, 1, process)
        wait_for_end(kill_run(process))

    return made_once(tmp_path_factory, "killed", make)


@pytest.fixture
def unfinished(killed_at_one: Path, tmp_path: Path) -> Path:
    """A run of eight, killed when the first conversation was collected."""
    return Path(shutil.copytree(killed_at_one, tmp_path / "out"))
