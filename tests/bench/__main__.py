"""Every benchmark, one after the other, with what the figures were measured on."""

import asyncio
import json
import os
import platform
import subprocess
from typing import Any

from tests.bench import loop, sandbox, transport

SANDBOX_SECONDS = 10.0


async def main() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "transport": await transport.measure(),
        "sandbox": await sandbox.measure(SANDBOX_SECONDS),
        "loop": await loop.measure(),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main()), indent=2))
