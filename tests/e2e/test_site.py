"""The documentation's site is built from the repository, its notebooks run, and it asks no other host for anything."""

import json
import os
import re
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from deploy.site import __main__ as site
from deploy.site.notebooks import JUPYTER, NOTEBOOKS, TRAINING, convert
from deploy.site.pages import ROOT
from tests.e2e.chromium import chromium, needs_chromium
from tests.models import needs_torch

needs_site = pytest.mark.skipif(
    not (JUPYTER / "installed").exists() and os.environ.get("CI") != "true",
    reason="the site's tools are missing: make .venv-site/installed",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    site.main(JUPYTER / "pages")
    mkdocs = [f"{JUPYTER}/bin/mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    subprocess.run(mkdocs, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return out


@needs_site
def test_the_reference_has_every_command_route_topic_and_column(built: Path) -> None:
    expected = {
        "commands": ("soliloquy problems check", "--in-flight", "SOLILOQUY_KAFKA"),
        "run-file": ("max_turns", "budget_tokens"),
        "api": ("POST /v1/runs", "/v1/chats/{id}/messages", "StartRunRequest"),
        "rows": ("turns.student.labels.strategy", "StudentReply", "ENDING_SOLVED"),
        "topics": ("student.replied", "conversation.finished"),
    }
    for page, words in expected.items():
        text = (built / "reference" / page / "index.html").read_text("utf-8")
        assert [word for word in words if word not in text] == []


@needs_site
def test_notebooks_run_to_their_last_cell_and_their_pages_show_what_they_print(built: Path) -> None:
    explored = (built / "examples/notebooks/explore-a-dataset/index.html").read_text("utf-8")
    assert re.search(r"30 accepted of 30, 0 rejected +\nturns +\d+, \d+ with a calculation", explored)
    recipe = (built / "examples/notebooks/write-a-recipe/index.html").read_text("utf-8")
    assert "4 rows in dialogues.jsonl" in recipe
    assert "\x1b" not in explored + recipe


@needs_site
@needs_chromium
async def test_a_browser_gets_the_site_from_its_own_host_alone(built: Path, tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(built)))
    Thread(target=server.serve_forever, daemon=True).start()
    own = f"http://127.0.0.1:{server.server_port}/"
    try:
        async with chromium(tmp_path, offline=False) as page:
            await page.open(f"{own}ARCHITECTURE/")
            await page.until("document.querySelectorAll('div.mermaid').length == 2")
            assert [address for address in page.requests if not address.startswith((own, "data:", "blob:"))] == []
            assert page.complaints == []
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.thorough
@needs_site
@needs_torch
def test_the_notebook_about_training_runs_on_a_cpu(tmp_path: Path) -> None:
    assert "Python usage accuracy" in convert(TRAINING, tmp_path, execute=True).read_text("utf-8")


def test_notebooks_hold_no_outputs() -> None:
    for notebook in NOTEBOOKS:
        cells = [cell for cell in json.loads(notebook.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        assert cells
        assert [cell for cell in cells if cell["outputs"] or cell["execution_count"]] == []
