"""One console for all of its tests: `soliloquy up` on an embedded log, and a browser before it."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.chaos.kafka.installation import free_ports
from tests.e2e.chromium import Page, chromium
from tests.e2e.console.hostile import HOSTILE, HOSTILE_FILE, QUESTION
from tests.e2e.consoles import NOBODY, TITLE, Site, signed_in, site
from tests.waiting import wait_until

TEMPLATE = """[template.two]
schedule = "0 0 1 1 *"
run = {name = "Two of arithmetic", recipe = "mathdial", problems = "arithmetic", conversations = 2, seed = 5}
"""


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("console")
    (folder / "problems").mkdir()
    solution = "Step 1) Use F = m a. Step 2) a = 50 / 20 = 2.5 m/s^2"
    row = {"question": f"{HOSTILE} {QUESTION}", "solution": solution, "topic": HOSTILE}
    (folder / "problems" / HOSTILE_FILE).write_text(json.dumps(row), "utf-8")
    return folder


@pytest.fixture(scope="package")
def metrics() -> int:
    """The first port of those where the processes have their metrics."""
    return free_ports(3).start


@pytest.fixture(scope="package")
def served(folder: Path, metrics: int) -> Iterator[Site]:
    problems = folder / "problems"
    given = ["--problem-files", str(problems)]
    # A chat may ask an endpoint where nobody listens.
    given += ["--chat-endpoint", NOBODY]
    templates = folder / "templates.toml"
    templates.write_text(TEMPLATE, "utf-8")
    given += ["--templates", str(templates)]
    with site(folder, *given, "--latency", "10ms", "--shard-seconds", "1s", "--http-from", str(metrics)) as running:
        yield running


@pytest.fixture(scope="package")
def grown(served: Site) -> str:
    """A run of six that is over, for whoever only reads it."""
    run = served.started(6, request_id="grown-by-fixture")
    wait_until(lambda: served.call("GET", f"/v1/runs/{run}")["state"] == "RUN_STATE_FINISHED")
    return run


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser(tmp_path_factory: pytest.TempPathFactory, served: Site) -> AsyncIterator[Page]:
    async with chromium(tmp_path_factory.mktemp("profile"), offline=False) as page:
        await signed_in(page, served)
        yield page


@pytest_asyncio.fixture(loop_scope="package")
async def page(browser: Page, served: Site) -> AsyncIterator[Page]:
    """Opened anew; no test may leave a complaint or have asked anybody else."""
    await browser.open_anew(served.address)
    await browser.until(f"{TITLE} === 'Runs'")
    yield browser
    assert browser.complaints == []
    assert all(address.startswith((served.address, "about:blank")) for address in browser.requests)
