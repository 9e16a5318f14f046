"""Grows thousands of conversations on a stand-in for each kind of endpoint, with the manners of real models."""

import asyncio
import json
from dataclasses import asdict

import pytest

from soliloquy.runtime.model.dialects import dialects
from tests.unit.model.on_dialects import figures
from tests.unit.model.test_dialects import MOST_FOR_FORM

CONVERSATIONS = 2_000


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("dialect", sorted(dialects()))
def test_two_thousand_conversations_lose_none(dialect: str) -> None:
    found = asyncio.run(figures(dialect, CONVERSATIONS))
    print(json.dumps({"dialect": dialect, **asdict(found)}))
    assert (found.lost, found.given_up, found.adaptations) == (0, 0, 0), found.why_lost
    assert found.for_form <= MOST_FOR_FORM * found.calls
