"""Runs services on Kafka as processes and reads their logs."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from soliloquy.runtime.transports.kafka import KafkaSettings
from tests.e2e.runs import SOLILOQUY

LINE_SECONDS = 120.0


class Command:
    """A `soliloquy` process and its output, line by line."""

    def __init__(self, process: Process) -> None:
        self.process = process

    async def line(self) -> str:
        assert self.process.stderr
        async with asyncio.timeout(LINE_SECONDS):
            return _said((await self.process.stderr.readline()).decode())

    async def says(self, expected: str) -> str:
        """Returns the next line with this prefix, skipping others, such as those of a sandbox."""
        while not (line := await self.line()).startswith(expected):
            assert line, f"it ended without a word of {expected!r}"
        return line

    async def address(self, name: str) -> str:
        """Returns the address of its probes once it is ready."""
        return (await self.says(f"{name}: ready, http on ")).split()[4].rstrip(",")

    async def ended(self) -> tuple[int | None, list[str]]:
        """Returns its exit status and its unread complaints."""
        assert self.process.stderr
        async with asyncio.timeout(LINE_SECONDS):
            rest = (await self.process.stderr.read()).decode().splitlines()
            return await self.process.wait(), [_said(line) for line in rest if '"level": "info"' not in line]

    async def terminated(self) -> tuple[int | None, list[str]]:
        self.process.terminate()
        return await self.ended()


@asynccontextmanager
async def running(*arguments: str | Path, kafka: KafkaSettings, wait: str = "0s") -> AsyncIterator[Command]:
    prefix = ("--kafka-prefix", kafka.prefix) if kafka.prefix else ()
    reach = ("--kafka", kafka.bootstrap, *prefix)
    environment = {**os.environ, "SOLILOQUY_KAFKA_WAIT": wait, **_login(kafka)}
    process = await asyncio.create_subprocess_exec(
        SOLILOQUY, *map(str, arguments), *reach, stderr=PIPE, env=environment
    )
    try:
        yield Command(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _login(kafka: KafkaSettings) -> dict[str, str]:
    files = {"ca_file": kafka.ca_file, "certificate_file": kafka.certificate_file, "key_file": kafka.key_file}
    told = {"security": kafka.security} | {name: str(file) for name, file in files.items() if file}
    return {f"SOLILOQUY_KAFKA_{name.upper()}": value for name, value in told.items()}


def _said(line: str) -> str:
    """Formats a log line as "service: message"; leaves other lines unchanged."""
    if not line.startswith("{"):
        return line.strip()
    entry = json.loads(line)
    return f"{entry['service']}: {entry['message']}"
