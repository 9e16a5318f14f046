"""Provides servers of object stores, and a bucket for each test."""

import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Self

import pytest
import s3fs

START_SECONDS = 60.0


def _s3(port: int) -> list[str]:
    return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]


class ObjectStore:
    """Runs the server as a process that keeps its objects in memory: S3's, or another's by its command for a port."""

    def __init__(self, command: Callable[[int], list[str]] = _s3) -> None:
        self._command = command
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self._port = listener.getsockname()[1]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command(self._port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._wait_until_it_answers()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self._port)):
                    return
            except OSError:
                assert time.monotonic() < deadline, "the object store does not come up"
                assert self._process.poll() is None, "the object store has ended"
                time.sleep(0.05)


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    with ObjectStore() as store:
        yield store


def reached_by_environment(store: ObjectStore, environment: pytest.MonkeyPatch) -> None:
    """Sets the environment variables with which a user names an object store and its credentials."""
    for name, value in {
        "AWS_ENDPOINT_URL_S3": store.url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        environment.setenv(name, value)
    # They remember the store that the environment named when they were made.
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """Creates a bucket for this test and returns its URL."""
    reached_by_environment(object_store, monkeypatch)
    name = f"bucket-{uuid.uuid4().hex[:8]}"
    s3fs.S3FileSystem().mkdir(name)
    return f"s3://{name}"
