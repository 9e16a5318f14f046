"""A loop with aiohttp: it retries nothing, and loses everything with its process."""

import asyncio
import json
from itertools import count

import aiohttp

from benchmarks.peers.asking import MODEL, ROLES, Job, measured, prompt


async def generate(job: Job) -> None:
    numbers, lines = count(), []

    async def converse(session: aiohttp.ClientSession) -> None:
        while (number := next(numbers)) < job.conversations:
            said = [""]
            for place in range(len(ROLES)):
                asked = [{"role": "user", "content": prompt(place, number, said[-1])}]
                async with session.post(
                    f"{job.url}/chat/completions", json={"model": MODEL, "messages": asked}
                ) as answer:
                    said.append((await answer.json())["choices"][0]["message"]["content"])
            lines.append(json.dumps(said[1:]))

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as tasks:
        for _ in range(job.at_once):
            tasks.create_task(converse(session))
    (job.folder / "dataset.jsonl").write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    with measured() as job:
        asyncio.run(generate(job))
