"""The console's files as a browser gets them."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.gateway.http.assets import FOLDERS
from tests.integration.gateway.site import Site, site

_ASSETS = re.compile(rb'(?:"/assets/|from "\./)([\w.-]+)"')


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as opened:
        yield opened


async def test_whatever_the_console_asks_for_is_there_with_its_type(at: Site) -> None:
    page = await at.ask("GET", "/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    types = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
    seen, unseen = set[str](), {name.decode() for name in _ASSETS.findall(page.body)}
    while unseen:
        name = unseen.pop()
        seen.add(name)
        asset = await at.ask("GET", f"/assets/{name}")
        assert (asset.status, asset.headers["content-type"]) == (200, types[Path(name).suffix]), name
        unseen |= {found.decode() for found in _ASSETS.findall(asset.body)} - seen
    # Its own, and what it has in common with a dataset's report.
    assert all(any((folder / name).is_file() for name in seen) for folder in FOLDERS)


async def test_a_file_that_a_browser_has_is_not_sent_again(at: Site) -> None:
    first = await at.ask("GET", "/assets/console.js")
    again = await at.ask("GET", "/assets/console.js", headers={"if-none-match": first.headers["etag"]})
    other = await at.ask("GET", "/assets/console.js", headers={"if-none-match": '"of-another-version"'})
    assert (first.headers["cache-control"], again.status, again.body, other.status) == ("no-cache", 304, b"", 200)
    assert first.body == other.body == (FOLDERS[0] / "console.js").read_bytes()
