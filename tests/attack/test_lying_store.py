"""A store that lies costs a run its end at most: the same command completes the same dataset with an honest one."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import s3fs

from tests.attack.lying_store import LIES
from tests.e2e.runs import SOLILOQUY, command, dataset, grown, run
from tests.objects.fixtures import ObjectStore
from tests.objects.fixtures import bucket as bucket
from tests.objects.fixtures import object_store as object_store

CONVERSATIONS = 12
SEEDS = range(3)


@contextmanager
def lying(store: ObjectStore, lie: str, seed: int) -> Iterator[dict[str, str]]:
    """Yields the variables with which commands reach the store through the proxy."""
    serving = [sys.executable, "-m", "tests.attack.lying_store", store.url, lie, str(seed)]
    with subprocess.Popen(serving, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdin
        assert proxy.stdout
        try:
            yield {"AWS_ENDPOINT_URL_S3": proxy.stdout.readline().strip()}
        finally:
            proxy.stdin.close()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("reference") / "out"
    grown(out, conversations=CONVERSATIONS, noise="real")
    return dataset(out)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lie", LIES)
def test_a_store_that_lies_loses_doubles_and_changes_nothing(
    lie: str, seed: int, bucket: str, object_store: ObjectStore, reference: dict[str, bytes], tmp_path: Path
) -> None:
    out = f"{bucket}/dataset"
    growing = command(out, conversations=CONVERSATIONS, noise="real", work=str(tmp_path / "work"))
    with lying(object_store, lie, seed) as environment:
        first = run(growing, environment=environment)
        read = run([SOLILOQUY, "verify", out], environment=environment)
    assert "Traceback" not in first.stderr + read.stderr
    # What verify finds in such a store is on its output.
    assert first.returncode == 0 or len(first.stderr.splitlines()) == 1, first.stderr
    print(f"\n{lie} {seed}: run {first.returncode} {first.stderr[-160:]!r}, verify {read.returncode}")
    again = run(growing)
    assert again.returncode == 0, again.stderr
    assert run([SOLILOQUY, "verify", out]).returncode == 0
    s3fs.S3FileSystem.clear_instance_cache()
    assert dataset(out) == reference
