"""A gateway as a process of its own, which a test kills, pauses and starts again at the same address.

`python -m tests.integration.gateway.process LOG-OR-BROKERS DATABASE ADDRESS` serves it over gRPC.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import grpc

from soliloquy.v1.gateway_pb2_grpc import RunServiceStub
from soliloquy_services.gateway.settings import GatewaySettings
from tests.chaos.kafka.installation import free_ports
from tests.integration.gateway.served import served
from tests.integration.transport import embedded, kafka

if TYPE_CHECKING:
    from soliloquy.v1.gateway_pb2_grpc import RunServiceAsyncStub


class GatewayProcess:
    def __init__(self, log: str, database: str) -> None:
        [port] = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self._command = [sys.executable, "-m", __name__, log, database, self.address]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()

    def pause(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    @asynccontextmanager
    async def called(self) -> AsyncIterator["RunServiceAsyncStub"]:
        """Yields its methods once it answers."""
        options = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)]
        async with grpc.aio.insecure_channel(self.address, options) as channel:
            async with asyncio.timeout(60):
                await channel.channel_ready()
            yield RunServiceStub(channel)


async def main(log: str, database: str, address: str) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    settings = GatewaySettings(database=database)
    connect = embedded.connect if log.startswith("/") else kafka.connect
    async with connect(log) as transport, served(transport, address=address, settings=settings):
        await ended.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
