"""The console's files as a browser gets them."""

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest

from soliloquy_services.gateway.http.application import CONSOLE, MOUNTED
from tests.integration.gateway.site import Site

_ASSETS = re.compile(rb'(?:(?:href|src)="(/assets/[^"]+)"|^import .*from "([^"]+)")', re.MULTILINE)


async def test_every_file_that_the_console_imports_is_served_with_its_type(open_site: Site) -> None:
    page = await open_site.ask("GET", "/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    types = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
    seen, unseen = set[str](), imported("/", page.body)
    while unseen:
        path = unseen.pop()
        seen.add(path)
        asset = await open_site.ask("GET", path)
        assert (asset.status, asset.headers["content-type"]) == (200, types[Path(path).suffix]), path
        unseen |= imported(path, asset.body) - seen
    # Nothing is served that no page needs, and the report's shared files are among them.
    assert seen == {
        f"{path}/{file.name}" for path, folder in MOUNTED.items() for file in folder.iterdir() if file.suffix in types
    }


def imported(path: str, content: bytes) -> set[str]:
    """The absolute paths of what a file links to or imports."""
    return {urljoin(path, (linked or module).decode()) for linked, module in _ASSETS.findall(content)}


async def test_a_file_that_a_browser_has_is_not_sent_again(open_site: Site) -> None:
    path = "/assets/services/gateway/console/console.js"
    first = await open_site.ask("GET", path)
    again = await open_site.ask("GET", path, headers={"if-none-match": first.headers["etag"]})
    other = await open_site.ask("GET", path, headers={"if-none-match": '"of-another-version"'})
    assert (first.headers["cache-control"], again.status, again.body, other.status) == ("no-cache", 304, b"", 200)
    assert first.body == other.body == (CONSOLE / "console.js").read_bytes()


@pytest.mark.parametrize("name", ["README.md", "__init__.py", "nothing.js", "%00.js", ".%2e/app.py", ""])
async def test_only_scripts_styles_and_the_icon_are_served(open_site: Site, name: str) -> None:
    for path in MOUNTED:
        answer = await open_site.ask("GET", f"{path}/{name}")
        assert (answer.status, answer.code) == (404, "unknown")


async def test_a_file_can_only_be_read(open_site: Site) -> None:
    answer = await open_site.ask("POST", "/assets/soliloquy/web/element.js", {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET")
