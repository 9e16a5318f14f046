"""Floods an address until its input ends: `python -m tests.attack.flood ADDRESS KIND CONNECTIONS`."""

import asyncio
import resource
import sys

from tests.integration.gateway.test_floods import FLOODS, held


async def attack(address: str, kind: str, connections: int) -> None:
    first, reads = FLOODS[kind]
    flood = [asyncio.create_task(held(address, first, reads=reads)) for _ in range(connections)]
    await asyncio.to_thread(sys.stdin.read)
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(attack(sys.argv[1], sys.argv[2], int(sys.argv[3])))
