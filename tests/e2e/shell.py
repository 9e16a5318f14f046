"""A process that runs one command after the other in an environment of its own, and starts Python once for all."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.runs import SOLILOQUY, said


class Shell:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        assert self._process.stdin
        assert self._process.stdout
        command = [SOLILOQUY, *map(str, arguments)]
        print(json.dumps([str(Path.cwd()), command]), file=self._process.stdin, flush=True)
        code, output, errors = json.loads(self._process.stdout.readline())
        return subprocess.CompletedProcess(command, code, output, errors)

    def says(self, *arguments: object) -> str:
        """What a command says that must succeed."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def shell(environment: Mapping[str, str] | None = None) -> Iterator[Shell]:
    told = {**os.environ, **(environment or {})}
    command = [sys.executable, "-m", "tests.e2e.shell"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=told, cwd=Path(__file__).parents[2]
    ) as process:
        yield Shell(process)


def main() -> None:
    for line in sys.stdin:
        folder, command = json.loads(line)
        os.chdir(folder)
        done = said(command)
        print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)


if __name__ == "__main__":
    main()
