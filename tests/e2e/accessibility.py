"""Asks axe which of its rules a page breaks, on a phone and on a screen, light and dark."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.chromium import Page

PHONE = 360
_AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
_VIOLATIONS = "axe.run(document).then((found) => found.violations.map(({ id, nodes }) => [id, nodes[0].html]))"
_STILL = {"name": "prefers-reduced-motion", "value": "reduce"}
needs_axe = pytest.mark.skipif(not _AXE.exists(), reason="needs axe-core (npm ci)")
# Sizes decide about layout and schemes about colours, so that each of them once is enough.
on_phones_and_screens = pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (1280, "light")])


async def seen(page: Page, width: int, scheme: str) -> None:
    """Sizes and colours a page. Its colours do not fade, because axe compares them as they are."""
    await page.sized(width, 800, mobile=width == PHONE)
    await page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}, _STILL])


async def violations(page: Page) -> Any:
    """Returns the name and the first element of each broken rule."""
    await page.evaluate(_AXE.read_text("utf-8"))
    return await page.evaluate(_VIOLATIONS)
