"""A PostgreSQL of this machine, which a test can kill and start again."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import psycopg2
import pytest

from tests.kafka import processes

_START_SECONDS = 60.0
# Debian does not put them on the path.
_FOLDERS = os.pathsep.join([os.environ["PATH"], *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))])
_SETTINGS = {"unix_socket_directories": "", "fsync": "off", "shared_buffers": "32MB", "max_connections": "40"}


class Postgres:
    """Its data outlive a kill."""

    def __init__(self) -> None:
        # Nobody else may enter the folders of a test.
        self._made = tempfile.TemporaryDirectory(prefix="soliloquy-postgres-")
        self._folder = Path(self._made.name)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0

    def __enter__(self) -> Self:
        if as_root := os.getuid() == 0:
            # The server refuses to run as root.
            shutil.chown(self._folder, "nobody")
        self._user = ["setpriv", "--reuid=nobody", "--clear-groups", "--pdeathsig=KILL"] if as_root else []
        made = [_program("initdb"), "-D", str(self._folder / "data"), "-U", "soliloquy", "--auth=trust", "--no-sync"]
        subprocess.run([*self._user, *made], check=True, capture_output=True, cwd="/")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            # An immediate end of the server and of those that serve connections.
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
        self._made.cleanup()

    @property
    def url(self) -> str:
        return f"postgresql+psycopg2://soliloquy@127.0.0.1:{self._port}/postgres"

    def database(self) -> str:
        """Makes a database and returns its URL."""
        self._databases += 1
        name = f"made_{self._databases}"
        with contextlib.closing(
            psycopg2.connect(host="127.0.0.1", port=self._port, user="soliloquy", dbname="postgres")
        ) as at:
            at.autocommit = True
            at.cursor().execute(f"CREATE DATABASE {name}")
        return f"postgresql://soliloquy@127.0.0.1:{self._port}/{name}"

    def start(self) -> None:
        settings = [f"--{name}={value}" for name, value in {**_SETTINGS, "port": str(self._port)}.items()]
        command = [*self._user, _program("postgres"), "-D", str(self._folder / "data"), "-h", "127.0.0.1", *settings]
        log = self._folder / "log"
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            assert time.monotonic() < deadline, log.read_text("utf-8")[-1000:]
            if self._process is None or self._process.poll() is not None:
                # Processes that served connections of a killed one may still hold its memory.
                self._process = processes.start(command, log)
            time.sleep(0.05)

    def _connect(self) -> "psycopg2.extensions.connection":
        return psycopg2.connect(host="127.0.0.1", port=self._port, user="soliloquy", dbname="postgres")

    def _answers(self) -> bool:
        try:
            self._connect().close()
        except psycopg2.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """Kills the server with kill -9; those that serve connections end with it."""
        assert self._process
        self._process.kill()
        self._process.wait()


def _program(name: str) -> str:
    if (path := shutil.which(name, path=_FOLDERS)) is None:
        pytest.skip(f"{name} is missing: install PostgreSQL (Debian, Ubuntu: sudo apt-get install postgresql)")
    return path
