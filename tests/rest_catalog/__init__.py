"""Iceberg's own server of the REST catalog protocol on this machine, which a test can kill and start again."""

import contextlib
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from tests import cache, maven
from tests.kafka import processes
from tests.lakehouse.store import KEY, WAREHOUSE, ObjectDisk

_POM = Path(__file__).with_name("pom.xml")
_SERVER = "org.apache.iceberg.rest.RESTCatalogServer"
_START_SECONDS = 60.0


class RestCatalog:
    """Keeps its tables in a SQLite file, and their metadata in the warehouse; it outlives a kill."""

    def __init__(self, folder: Path, warehouse: ObjectDisk) -> None:
        self.file = folder / "rest-catalog.db"
        self.warehouse = warehouse
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        log = self.file.with_suffix(".log")
        settings = [f"{name}={value}" for name, value in self._settings.items()]
        command = [_java(), "-Xmx256m", "-cp", f"{_jars()}/*", _SERVER]
        self._process = processes.start(["env", *settings, *command], log)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            is_over = self._process.poll() is not None or time.monotonic() > deadline
            assert not is_over, log.read_text("utf-8")[-2000:]
            time.sleep(0.1)

    def kill(self) -> None:
        assert self._process
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/v1/config", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    @property
    def _settings(self) -> Mapping[str, str]:
        return {
            "CATALOG_REST_PORT": self.url.rpartition(":")[2],
            "CATALOG_URI": f"jdbc:sqlite:{self.file}",
            "CATALOG_WAREHOUSE": WAREHOUSE,
            "CATALOG_IO__IMPL": "org.apache.iceberg.aws.s3.S3FileIO",
            "CATALOG_S3_ENDPOINT": self.warehouse.url,
            "CATALOG_S3_PATH__STYLE__ACCESS": "true",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": KEY,
            "AWS_REGION": "us-east-1",
        }


def _java() -> str:
    if (java := shutil.which("java")) is None:
        pytest.skip("java is missing: install Java 17, which runs the REST catalog of the tests")
    return java


def _jars() -> Path:
    folder = cache.place("rest-catalog", _POM)
    if (why := cache.failure(folder, partial(maven.jars, _POM))) is not None:
        pytest.skip(why)
    return folder
