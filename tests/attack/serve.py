"""Serves a gateway with tokens until its input ends: `python -m tests.attack.serve FOLDER`."""

import asyncio
import sys
from pathlib import Path

from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.tokens import TokenFile
from tests.integration.gateway.site import site
from tests.unit.gateway.tokens import written


async def serve(folder: Path) -> None:
    async with site(folder, admitting=Access(TokenFile(written(folder)))) as at:
        print(at.http, at.grpc, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
