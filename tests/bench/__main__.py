"""Every benchmark, one after the other, with what the figures were measured on."""

import asyncio
import json
import subprocess
from typing import Any

import uvloop

from services.executor.bench import sandbox
from services.executor.bench.mixes import mixes
from tests.bench import loop, transport

SECONDS_A_MIX = 10.0


def main() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    alone = sandbox.measure(list(mixes().values()), seconds=SECONDS_A_MIX, tell=lambda _: None)
    return {
        "commit": commit.stdout.strip(),
        "sandbox": uvloop.run(alone),
        "transport": asyncio.run(transport.measure()),
        "loop": asyncio.run(loop.measure()),
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
