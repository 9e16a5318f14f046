"""Shares a broker and the runs that many end-to-end tests begin with."""

import shutil
from pathlib import Path

import pytest

from tests.e2e.runs import grown, kill_run, paced, start, wait_for_end, wait_for_frames
from tests.kafka.fixtures import kafka as kafka
from tests.objects.fixtures import bucket as bucket
from tests.objects.fixtures import object_store as object_store


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of twelve, for whoever does not change it."""
    out = tmp_path_factory.mktemp("reference") / "dataset"
    grown(out, conversations=12)
    return out


@pytest.fixture(scope="session")
def killed_at_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("killed") / "out"
    process = start(paced(out))
    wait_for_frames(out, 1, process)
    wait_for_end(kill_run(process))
    return out


@pytest.fixture
def unfinished(killed_at_one: Path, tmp_path: Path) -> Path:
    """A run of twelve, killed when the first conversation was collected."""
    return Path(shutil.copytree(killed_at_one, tmp_path / "out"))
