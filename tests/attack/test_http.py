"""Requests that Schemathesis makes of the gateway's OpenAPI document, one after another and in sequences."""

import asyncio
import logging
import os
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from soliloquy.cli.tables import table
from soliloquy_services.gateway.access.access import REQUESTS, SECONDS
from tests.attack.gateway import attacked
from tests.integration.executor.support import needs_runsc
from tests.integration.gateway.site import OPERATOR

HERE = Path(__file__).parent
MOST_SECONDS = 120


@needs_runsc
@pytest.mark.timeout(600)
async def test_generated_requests_are_answered_as_the_openapi_document_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = (
        *("--config-file", HERE / "schemathesis.toml"),
        "run",
        *("--header", f"authorization: Bearer {OPERATOR}"),
        # They never end.
        *("--exclude-path-regex", "(watch|tail)$"),
        *("--max-time", MOST_SECONDS),
        *("--request-timeout", 20),
        *("--generation-database", "none"),
        # Its hints on how to test more.
        *("--warnings", "off"),
        "--no-color",
    )
    async with attacked(tmp_path) as at:
        chat = {"recipe": "soliloquy", "bank": "physics"}
        started = await at.ask("POST", "/v1/chats", chat, token=OPERATOR)
        known = {"ATTACKED_RUN": await at.start(), "ATTACKED_CHAT": str(started.body["id"])}
        hooks = {"SCHEMATHESIS_HOOKS": "tests.attack.requests", "PYTHONPATH": str(HERE.parents[1])}
        tested = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", *map(str, options), f"{at.http}/openapi.json"),
            cwd=tmp_path,
            env={**os.environ, **hooks, **known},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await tested.communicate()
    print(told.decode())
    Console().print(_answers())
    assert tested.returncode == 0, told.decode()
    assert not [line.getMessage() for line in caplog.records if line.levelno >= logging.ERROR]


def _answers() -> Table:
    rows = table("call", "answers", "mean ms")
    samples = [sample for metric in (*REQUESTS.collect(), *SECONDS.collect()) for sample in metric.samples]
    for action in sorted({sample.labels["method"] for sample in samples}):
        of = [sample for sample in samples if sample.labels["method"] == action]
        answers = {each.labels["code"]: int(each.value) for each in of if each.name.endswith("requests_total")}
        total, count = (sum(each.value for each in of if each.name.endswith(end)) for end in ("_sum", "_count"))
        rows.add_row(
            action, ", ".join(f"{n} {status}" for status, n in answers.items()), f"{total * 1000 / max(1, count):.0f}"
        )
    return rows
