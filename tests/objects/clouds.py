"""Provides the stores of Google and Azure by their emulators, and a bucket for each test."""

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import fsspec.config
import pytest

from tests import cache, go
from tests.objects.fixtures import ObjectStore

_GOOGLE = "github.com/fsouza/fake-gcs-server@v1.56.1"
_AZURE = "azurite@3.37.0"
# Otherwise gcsfs asks for a bucket's kind over gRPC, which the emulator does not speak; it reads this when imported.
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
# The account that every emulator of Azure has.
_ACCOUNT = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;BlobEndpoint={url}/devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@pytest.fixture(scope="session")
def google() -> Iterator[ObjectStore]:
    pytest.importorskip("gcsfs")
    with ObjectStore(_google) as store:
        yield store


@pytest.fixture(scope="session")
def azure() -> Iterator[ObjectStore]:
    pytest.importorskip("adlfs")
    with ObjectStore(_azure) as store:
        yield store


@pytest.fixture
def google_bucket(google: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", google.url)
    monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon"})
    return _bucket("gs")


@pytest.fixture
def azure_bucket(azure: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", _ACCOUNT.format(url=azure.url))
    return _bucket("az")


def _bucket(scheme: str) -> str:
    name = f"bucket-{uuid.uuid4().hex[:8]}"
    fsspec.filesystem(scheme).mkdir(name)
    return f"{scheme}://{name}"


def _google(port: int) -> list[str]:
    listen = ["-scheme=http", "-host=127.0.0.1", f"-port={port}", f"-external-url=http://127.0.0.1:{port}"]
    return [go.program(_GOOGLE), "-backend=memory", *listen]


def _azure(port: int) -> list[str]:
    folder = cache.home() / _AZURE
    if (why := cache.failure(folder, _install)) is not None:
        pytest.skip(why)
    program = str(folder / "node_modules/.bin/azurite-blob")
    return [program, "--inMemoryPersistence", "--skipApiVersionCheck", "--blobHost=127.0.0.1", f"--blobPort={port}"]


def _install(folder: Path) -> str | None:
    if (npm := shutil.which("npm")) is None:
        return f"npm is missing: install Node.js 20 or later, which runs {_AZURE}"
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", f"--prefix={folder}", _AZURE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    return None if done.returncode == 0 else f"npm could not install {_AZURE}: {done.stderr.strip()[-500:]}"
