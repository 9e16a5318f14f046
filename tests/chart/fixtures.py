"""Provides the chart's tools to conftest files; tests skip without them, and fail in CI."""

import os

import pytest

from tests.chart import tools


@pytest.fixture(scope="session", autouse=True)
def chart_tools() -> None:
    try:
        tools.folder()
    except tools.ToolsUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"the chart cannot be checked, which CI must: {error}", pytrace=False)
        pytest.skip(f"the chart cannot be checked: {error}")
