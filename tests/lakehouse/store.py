"""An S3 store of this machine with its objects on the disk, which a test can kill and start again."""

import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from tests import go
from tests.kafka import processes

_PROGRAM = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
_START_SECONDS = 60.0
KEY = "soliloquy"
WAREHOUSE = "s3://warehouse/tables"


class ObjectDisk:
    """Its objects outlive a kill, and other than one in memory it takes little of a core."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "objects"
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # Each folder is a bucket. What an object is, is kept beside: not every file system keeps attributes.
        (self._folder / "buckets" / "warehouse").mkdir(parents=True)
        (self._folder / "beside").mkdir()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self, *options: str) -> None:
        listen = ["--port", f"127.0.0.1:{self._port}", "--access", KEY, "--secret", KEY, "--quiet", *options]
        where = ["posix", "--sidecar", str(self._folder / "beside"), str(self._folder / "buckets")]
        self._process = processes.start([go.program(_PROGRAM), *listen, *where], self._folder.with_suffix(".log"))
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
                return
            except OSError:
                assert time.monotonic() < deadline, self._folder.with_suffix(".log").read_text("utf-8")[-1000:]
                time.sleep(0.05)

    def kill(self) -> None:
        assert self._process
        self._process.kill()
        self._process.wait()
