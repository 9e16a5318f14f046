"""The pictures of the console's page can be taken again."""

from pathlib import Path

import pytest

from tests.e2e.chromium import Page, needs_chromium
from tests.e2e.console.pictures import FOLDER, take
from tests.e2e.consoles import Site

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="package")]


async def test_every_picture_of_the_page_is_taken(page: Page, served: Site, tmp_path: Path) -> None:
    await take(page, served, tmp_path)
    assert {one.name for one in tmp_path.glob("*.png")} == {one.name for one in FOLDER.glob("*.png")}
